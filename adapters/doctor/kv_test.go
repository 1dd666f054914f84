package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

func openEtcd(t *testing.T, cfg etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// join makes a KV and a lake belong together, as the first process does.
func join(t *testing.T, store kv.KV, l lake.Lake) {
	t.Helper()
	id, err := kv.Identify(t.Context(), store, l.URI())
	must(t, err)
	must(t, lake.Claim(t.Context(), l, id.ID))
}

func TestASoundEtcdPassesAndKeepsNothing(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	l := openLocal(t, t.TempDir())
	store := openEtcd(t, etcd.Config{Endpoints: c.Endpoints()})
	found := examined(t, doctor.Etcd(store, l))
	want(t, found, "etcd", doctor.OK, "version 3.")
	want(t, found, "kv", doctor.OK, "")
	want(t, found, "kv-of-lake", doctor.OK, "are new")
	if s, err := store.Read(t.Context(), core.Everything()); err != nil || len(s.Records) > 0 {
		t.Errorf("left behind in etcd: %v %v", s.Records, err)
	}
	wantEmpty(t, l.Dir())
	join(t, store, l)
	want(t, examined(t, doctor.Etcd(store, l)), "kv-of-lake", doctor.OK, "belong together")
	must(t, l.Delete(t.Context(), lake.ClaimKey))
	want(t, examined(t, doctor.Etcd(store, l)), "kv-of-lake", doctor.Warning, "doesn't know the KV")
}

func TestEachFaultOfAnEtcdIsFound(t *testing.T) {
	t.Parallel()
	const away = "127.0.0.1:1" // nobody listens there
	c := etcdtest.Start(t, 1)
	for name, k := range map[string]struct {
		prepare func(t *testing.T, cfg *etcd.Config, l *lake.Local)
		check   string
		verdict doctor.Verdict
		words   string
	}{
		"it isn't there": {
			func(_ *testing.T, cfg *etcd.Config, _ *lake.Local) { cfg.Endpoints = []string{away} },
			"etcd", doctor.Failed, away,
		},
		"one of two endpoints isn't there": {
			func(_ *testing.T, cfg *etcd.Config, _ *lake.Local) { cfg.Endpoints = append(cfg.Endpoints, away) },
			"etcd", doctor.Warning, "1 of 2 endpoints answer",
		},
		"it serves another lake": {
			func(t *testing.T, cfg *etcd.Config, _ *lake.Local) {
				cfg.Prefix = "/another lake's/"
				join(t, openEtcd(t, *cfg), openLocal(t, t.TempDir()))
			},
			"kv-of-lake", doctor.Failed, "the KV serves the lake",
		},
		"the lake belongs to another KV": {
			func(t *testing.T, cfg *etcd.Config, l *lake.Local) {
				cfg.Prefix = "/another KV's/"
				_, err := kv.Identify(t.Context(), openEtcd(t, *cfg), l.URI())
				must(t, err)
				must(t, lake.Claim(t.Context(), l, "somebody else's"))
			},
			"kv-of-lake", doctor.Failed, "belongs to the KV somebody else's",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLocal(t, t.TempDir())
			cfg := etcd.Config{Endpoints: c.Endpoints()}
			k.prepare(t, &cfg, l)
			want(t, examined(t, doctor.Etcd(openEtcd(t, cfg), l)), k.check, k.verdict, k.words)
		})
	}
}

// A user who may not write under the prefix, and an etcd without space.
func TestAnEtcdThatRefusesWritesIsFound(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	l := openLocal(t, t.TempDir())
	alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: uint64(c.Member(0).Server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE}
	_, err := c.Member(0).Server.Alarm(t.Context(), alarm)
	must(t, err)
	found := examined(t, doctor.Etcd(openEtcd(t, etcd.Config{Endpoints: c.Endpoints()}), l))
	want(t, found, "etcd", doctor.Failed, "NOSPACE")
	want(t, found, "kv", doctor.Failed, "space")
	alarm.Action = etcdserverpb.AlarmRequest_DEACTIVATE
	_, err = c.Member(0).Server.Alarm(t.Context(), alarm)
	must(t, err)

	limitUser(t, c.Endpoints(), "/elsewhere/")
	cfg := etcd.Config{Endpoints: c.Endpoints(), Username: "sluice", Password: "some secret words"}
	want(t, examined(t, doctor.Etcd(openEtcd(t, cfg), l)), "kv", doctor.Failed, "permission denied")
	cfg.Password = "wrong secret words"
	found = examined(t, doctor.Etcd(openEtcd(t, cfg), l))
	want(t, found, "etcd", doctor.Failed, "authentication failed")
	if strings.Contains(found["etcd"].Said, "words") {
		t.Errorf("a finding tells the password: %s", found["etcd"].Said)
	}
	cfg.Prefix, cfg.Password = "/elsewhere", "some secret words"
	want(t, examined(t, doctor.Etcd(openEtcd(t, cfg), l)), "kv", doctor.OK, "")
}

// limitUser lets the user sluice do everything under a prefix, and nothing elsewhere.
func limitUser(t *testing.T, endpoints []string, prefix string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	must(t, err)
	defer client.Close()
	ctx := t.Context()
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := client.RoleAdd(ctx, "keeper"); return err },
		func(ctx context.Context) error {
			_, err := client.RoleGrantPermission(ctx, "keeper", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func(ctx context.Context) error {
			_, err := client.UserAdd(ctx, "sluice", "some secret words")
			return err
		},
		func(ctx context.Context) error { _, err := client.UserGrantRole(ctx, "sluice", "keeper"); return err },
		func(ctx context.Context) error { _, err := client.RoleAdd(ctx, "root"); return err },
		func(ctx context.Context) error {
			_, err := client.UserAdd(ctx, "root", "other secret words")
			return err
		},
		func(ctx context.Context) error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func(ctx context.Context) error { _, err := client.AuthEnable(ctx); return err },
	} {
		must(t, do(ctx))
	}
}

func TestAStateFileIsOnlyReadAndItsFolderTriedOut(t *testing.T) {
	t.Parallel()
	l := openLocal(t, t.TempDir())
	path := filepath.Join(l.Dir(), "_sluice", "state.db")
	found := examined(t, doctor.Bolt(path, l)...)
	want(t, found, "kv", doctor.OK, "")
	want(t, found, "kv-of-lake", doctor.OK, "are new")
	wantEmpty(t, l.Dir())

	must(t, os.Mkdir(filepath.Dir(path), 0o755))
	store, err := bolt.Open(t.Context(), path)
	must(t, err)
	want(t, examined(t, doctor.Bolt(path, l)...), "kv-of-lake", doctor.Warning, "a sluice process serves")
	join(t, store, l)
	must(t, store.Close())
	before, err := os.ReadFile(path)
	must(t, err)
	want(t, examined(t, doctor.Bolt(path, l)...), "kv-of-lake", doctor.OK, "belong together")
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the state file was changed (%v)", err)
	}
	want(t, examined(t, doctor.Bolt(path+".gone", l)...), "kv-of-lake", doctor.Failed, "there is no "+path+".gone")
	other := openLocal(t, t.TempDir())
	want(t, examined(t, doctor.Bolt(path, other)...), "kv-of-lake", doctor.Failed, "serves the lake file://")
	must(t, os.WriteFile(path, []byte("hello"), 0o600))
	want(t, examined(t, doctor.Bolt(path, l)...), "kv-of-lake", doctor.Failed, "damaged")
}

func TestAStateFileThatCannotBeThereIsFound(t *testing.T) {
	t.Parallel()
	l := openLocal(t, t.TempDir())
	file := filepath.Join(l.Dir(), "a file")
	must(t, os.WriteFile(file, nil, 0o600))
	want(t, examined(t, doctor.Bolt(filepath.Join(file, "state.db"), l)...), "kv", doctor.Failed, "not a directory")
}
