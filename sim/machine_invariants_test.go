package sim

import (
	"slices"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// sighting is what an observer of the KV and the lake writes down after an action.
type sighting struct {
	owner    core.ExecutionID
	draining bool
	marks    core.Marks
	attempts map[core.Endpoint]int
	merged   map[core.Endpoint]uint64 // the newest success
	over     map[string]core.Version  // by the name of an execution that was recovered: the head by then
}

func (m *machineRun) look() sighting {
	kv := m.w.kv
	s := sighting{
		owner: Get[core.ExecutionID](kv, core.OwnerKey(machineTable)), draining: m.w.checks.draining(machineTable),
		marks:    slices.Clone(m.table.head().Marks),
		attempts: map[core.Endpoint]int{}, merged: map[core.Endpoint]uint64{}, over: map[string]core.Version{},
	}
	for _, rec := range kv.Read(core.FailureRange(machineTable)) {
		r := decode[core.FailureRecord](rec)
		s.attempts[r.Endpoint] = r.Attempts
	}
	for _, rec := range kv.Read(core.HistoryRange(machineTable)) {
		h := decode[core.History](rec)
		if h.Merged {
			s.merged[h.Execution.Charge] = h.Execution.Number
		}
		if h.Execution.Phase == core.Recovered {
			name := (&engine{exec: h.Execution}).name()
			if s.over[name] = m.seen.over[name]; s.over[name] == 0 {
				s.over[name] = m.table.head().Version
			}
		}
	}
	return s
}

// check compares what is there now with what was there before the action.
func (m *machineRun) check(t *rapid.T) {
	for _, broken := range m.w.checks.broken {
		t.Fatal(broken)
	}
	was, now := m.seen, m.look()
	m.seen = now
	for _, s := range m.table.shards {
		if now.marks.Of(s.id) < was.marks.Of(s.id) {
			t.Fatalf("invariant 4: the mark of %s falls from %d to %d", s.id, was.marks.Of(s.id), now.marks.Of(s.id))
		}
	}
	for _, v := range m.table.versions {
		if head, over := was.over[v.by]; over && v.Version > head {
			t.Fatalf("invariant 2: v%d of %s landed after it was recovered at v%d", v.Version, v.by, head)
		}
	}
	for _, e := range sortedKeys(was.attempts) {
		if now.attempts[e] < was.attempts[e] && now.merged[e] == was.merged[e] {
			t.Fatalf("invariant 5: the budget of %s goes from %d to %d attempts without a success", e, was.attempts[e], now.attempts[e])
		}
	}
	if was.draining && now.draining && now.owner != "" && now.owner != was.owner {
		t.Fatalf("invariant 6: %s was reserved while the table is draining", now.owner)
	}
}
