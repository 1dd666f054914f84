package kvtest

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// TestTheModelKnowsRightFromWrong hands the checker histories that a broken store would make. All calls
// but the last happen at once, so that the checker is free to order them.
func TestTheModelKnowsRightFromWrong(t *testing.T) {
	t.Parallel()
	put := func(key, value string, conds ...core.Cond) call {
		return call{txn: &core.Txn{If: conds, Then: []core.Op{core.Put(key, value)}}}
	}
	applied := func(rev core.Revision) reply { return reply{answer: kv.Answer{Outcome: core.Applied, Revision: rev}} }
	refused := func(rev core.Revision) reply {
		return reply{answer: kv.Answer{Outcome: core.NotApplied, Revision: rev}}
	}
	saw := func(rev core.Revision, records ...core.Record) reply {
		return reply{snapshot: kv.Snapshot{Revision: rev, Records: records}}
	}
	look := call{read: []core.Range{all}}
	claim := put("k/a", "1", core.Absent("k/a"))
	a2 := core.Record{Key: "k/a", Value: "1", Mod: 2}
	for _, c := range []struct {
		name  string
		calls []call
		out   []reply
		want  bool
	}{
		{"one of two claims wins", []call{claim, claim, look}, []reply{applied(2), refused(2), saw(2, a2)}, true},
		{"two claims win", []call{claim, claim, look}, []reply{applied(2), applied(3), saw(3, core.Record{Key: "k/a", Value: "1", Mod: 3})}, false},
		{"both claims lose", []call{claim, claim, look}, []reply{refused(1), refused(1), saw(1)}, false},
		{"a claim of unknown outcome was applied", []call{claim, look}, []reply{{}, saw(2, a2)}, true},
		{"a claim of unknown outcome was not applied", []call{claim, look}, []reply{{}, saw(1)}, true},
		{"a claim of unknown outcome beat another", []call{claim, claim, look}, []reply{{}, refused(2), saw(2, a2)}, true},
		{"a write that was answered is gone", []call{claim, look}, []reply{applied(2), saw(1)}, false},
		{"a write that was answered is of another revision", []call{claim, look}, []reply{applied(3), saw(3, a2)}, false},
		{"a range changed and was not seen to", []call{claim, put("k/b", "1", core.RangeUnchanged(all, 1)), look},
			[]reply{applied(2), applied(3), saw(3, a2, core.Record{Key: "k/b", Value: "1", Mod: 3})}, false},
		{"an old value was compared", []call{claim, put("k/a", "2", core.Holds("k/a", "0")), look},
			[]reply{applied(2), applied(3), saw(3, core.Record{Key: "k/a", Value: "2", Mod: 3})}, false},
	} {
		var history []porcupine.Operation
		for i, in := range c.calls {
			op := porcupine.Operation{ClientId: i, Input: in, Output: c.out[i], Call: 0, Return: 10}
			if i == len(c.calls)-1 {
				op.Call, op.Return = 11, 12
			}
			history = append(history, op)
		}
		model := model(1)
		if got := porcupine.CheckOperations(model.ToModel(), history); got != c.want {
			t.Errorf("%s: got linearizable %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAMirrorRefusesBatchesOutOfOrder(t *testing.T) {
	t.Parallel()
	put := func(key string, mod core.Revision) []core.Record { return []core.Record{{Key: key, Mod: mod}} }
	for name, c := range map[string]struct {
		batch kv.Batch
		want  bool
	}{
		"a later put":            {kv.Batch{Revision: 6, Puts: put("k/a", 6)}, true},
		"a snapshot":             {kv.Batch{Revision: 5, Reset: true, Puts: put("k/a", 2)}, true},
		"an empty snapshot":      {kv.Batch{Revision: 6, Reset: true}, true},
		"an earlier batch":       {kv.Batch{Revision: 4, Puts: put("k/a", 4)}, false},
		"the same batch again":   {kv.Batch{Revision: 5, Puts: put("k/a", 5)}, false},
		"an earlier snapshot":    {kv.Batch{Revision: 4, Reset: true}, false},
		"a put from before":      {kv.Batch{Revision: 6, Puts: put("k/a", 5)}, false},
		"a put from after":       {kv.Batch{Revision: 6, Puts: put("k/a", 7)}, false},
		"a put out of the range": {kv.Batch{Revision: 6, Puts: put("other", 6)}, false},
		"nothing":                {kv.Batch{Revision: 6}, false},
		"a key put and deleted":  {kv.Batch{Revision: 6, Puts: put("k/a", 6), Deletes: []string{"k/a"}}, false},
	} {
		if err := newMirror(all, 5).take(c.batch); (err == nil) != c.want {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
