package main_test

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/core"
)

// store is a test's own connection to the fleet's etcd.
func (f *fleetOf) store() *etcd.Store {
	f.t.Helper()
	s, err := etcd.Open(etcd.Config{Endpoints: f.etcd.Endpoints()})
	must(f.t, err)
	f.t.Cleanup(func() { _ = s.Close() }) // some tests close it
	return s
}

// records are those of the fleet right now.
func records(t testing.TB, s *etcd.Store) *core.View {
	t.Helper()
	all, err := s.Read(t.Context(), core.Everything())
	must(t, err)
	return core.ViewOf(all.Revision, all.Records)
}

// until waits until the records are as wanted.
func until(t testing.TB, s *etcd.Store, what string, want func(*core.View) bool) *core.View {
	t.Helper()
	var v *core.View
	await(t, 40*time.Second, func() (bool, string) {
		v = records(t, s)
		return want(v), what
	})
	return v
}

// over waits until execution n of a table is released, and returns what became of it.
func over(t testing.TB, m *running, table core.Target, n uint64) core.History {
	t.Helper()
	var h core.History
	await(t, 50*time.Second, func() (bool, string) {
		list, err := m.api.Executions(t.Context(), table, n-1)
		if err != nil || len(list) == 0 {
			return false, "execution is not released: " + m.logged()
		}
		h = list[0]
		return h.Execution.Number == n, m.logged()
	})
	return h
}

// wantUncharged demands that nothing of a table counts as a failure.
func wantUncharged(t testing.TB, v *core.View, table core.Target) {
	t.Helper()
	for _, f := range v.Target(table).Failures {
		if f.Value.Attempts > 0 || f.Value.Attention {
			t.Errorf("expected nothing of %s to be charged, found %+v", table, f.Value)
		}
	}
}
