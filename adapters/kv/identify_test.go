package kv_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

const lake = "file:///data/lake"

func open(t *testing.T) kv.KV {
	t.Helper()
	s, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestIdentifyGivesAllTheSameRecord(t *testing.T) {
	t.Parallel()
	store := open(t)
	var group sync.WaitGroup
	found := make([]core.KVRecord, 8)
	for i := range found {
		group.Go(func() {
			var err error
			if found[i], err = kv.Identify(t.Context(), store, lake); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, r := range found {
		if r != found[0] || len(r.ID) < 16 || r.Format != core.Format || r.Lake != lake {
			t.Errorf("got %+v and %+v", r, found[0])
		}
	}
	if other, err := kv.Identify(t.Context(), open(t), lake); err != nil || other.ID == found[0].ID {
		t.Errorf("two KVs have the id %s: %v", other.ID, err)
	}
}

func TestIdentifyRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		words []string
	}{
		"another lake":               {`{"id":"x","format":1,"lake":"file:///data/other"}`, []string{"file:///data/other", lake}},
		"a later format":             {`{"id":"x","format":2,"lakes":["` + lake + `"]}`, []string{"format 2", "format 1"}},
		"a field that we don't know": {`{"id":"x","format":1,"lake":"` + lake + `","more":1}`, []string{core.KVKey(), "more"}},
		"no record at all":           {`hello`, []string{"identity"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			if _, err := store.Commit(t.Context(), core.Txn{Then: []core.Op{core.Put(core.KVKey(), c.value)}}); err != nil {
				t.Fatal(err)
			}
			_, err := kv.Identify(t.Context(), store, lake)
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q doesn't say %q", err, word)
				}
			}
			got, err := store.Read(t.Context(), core.Range{Key: core.KVKey()})
			if err != nil || got.Records[0].Value != c.value {
				t.Errorf("the record was changed: %v, %v", got.Records, err)
			}
		})
	}
}

// mute loses the answers to all transactions, after or instead of applying them.
type mute struct {
	kv.KV
	apply bool
}

var errMute = errors.New("no answer")

func (m mute) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	if m.apply {
		if _, err := m.KV.Commit(ctx, t); err != nil {
			return kv.Answer{}, err
		}
	}
	return kv.Answer{}, errMute
}

func TestIdentifyReadsWhatBecameOfALostAnswer(t *testing.T) {
	t.Parallel()
	store := open(t)
	if _, err := kv.Identify(t.Context(), mute{store, false}, lake); !errors.Is(err, errMute) {
		t.Errorf("not applied: got error %v", err)
	}
	first, err := kv.Identify(t.Context(), mute{store, true}, lake)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := kv.Identify(t.Context(), store, lake); err != nil || again != first {
		t.Errorf("got %+v, then %+v, %v", first, again, err)
	}
}
