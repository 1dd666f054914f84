package sim

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// The whole protocol as a state machine that rapid drives: two masters, two workers, one table, and a list of
// actions. Where the random walk goes further, this one is for being read: rapid shrinks a failure to the shortest
// list of actions that still fails, and every draw of it is a word. The world is the simulator's, so the machines
// are the real ones; what must hold is judged twice, by the world after every step and by
// machine_invariants_test.go after every action.

const machineTable core.Target = "db/events"

// machineRun is one run of the state machine.
type machineRun struct {
	w     *world
	table *table
	next  misfortune
	seen  sighting
}

// misfortune is what an action has said of the next message of its kind. In between nothing goes wrong by itself.
type misfortune struct {
	lost  string // the kind of the request that gets lost; "": none
	done  bool   // it gets lost after it took effect
	twice bool   // the next call of another process arrives twice
	fate  putFate
}

func newMachineRun() *machineRun {
	m := &machineRun{w: newWorld(), table: newTable(2), next: misfortune{fate: calm().put("")}}
	m.w.checks.untouched = true
	m.w.lake.place(machineTable, m.table)
	m.w.faults.lose, m.w.faults.twice, m.w.faults.put = m.loses, m.repeats, m.keeps
	declares := core.Declaration{Owned: []core.Target{machineTable}}
	m.w.addMaster("m1", declares, walkLimits)
	m.w.addMaster("m2", declares, walkLimits)
	for _, name := range []string{"w1", "w2"} {
		m.w.addWorker(name, core.WorkerConfig{Declares: declares, Limits: walkLimits, Slots: 1, Pass: core.PassLimits{Generations: 2}})
	}
	m.w.run(2*time.Second, never) // all of them are registered
	m.seen = m.look()
	return m
}

func (m *machineRun) loses(kind, _ string) (lost, done bool) {
	if m.next.lost != kind {
		return false, false
	}
	m.next.lost = ""
	return true, m.next.done
}

func (m *machineRun) repeats(string, string) (again time.Duration, ok bool) {
	ok, m.next.twice = m.next.twice, false
	return 3 * time.Second, ok
}

func (m *machineRun) keeps(string) (fate putFate) {
	fate, m.next.fate = m.next.fate, calm().put("")
	return fate
}

// TestTheProtocolHoldsWhateverHappens: no list of actions breaks an invariant, and after each of them everything
// that is pending is merged once the faults are over. A failure is played again with the flag that it prints.
func TestTheProtocolHoldsWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachineRun()
		defer func() {
			if t.Failed() {
				t.Log("what the machines did:\n" + strings.Join(m.w.trace, "\n"))
			}
		}()
		t.Repeat(m.actions())
		m.mend()
		if !m.w.run(walkPatience, m.settled) {
			t.Fatalf("invariant 8: not everything is merged %v after the faults: %s", walkPatience, m.table.describe())
		}
		m.check(t)
	})
}

// settled reports whether nothing is pending and nothing runs.
func (m *machineRun) settled() bool {
	return m.table.pending() == 0 && Get[core.Execution](m.w.kv, core.ExecutionKey(machineTable)).ID == ""
}

// mend ends all faults. What storage still holds lands when it likes: now.
func (m *machineRun) mend() {
	w := m.w
	w.say("---", "the faults are over")
	m.next = misfortune{fate: calm().put("")}
	w.kvDown, w.lake.down, w.holding, w.engines = false, false, false, engineScript{}
	for _, land := range w.heldPut {
		land()
	}
	w.heldPut = nil
	for _, p := range w.procs {
		switch {
		case p.machine == nil:
			w.boot(p)
		case p.paused:
			w.resume(p)
		}
		w.heal(p)
		for _, name := range sortedKeys(p.engines) {
			w.hears(p.engines[name])
		}
	}
	w.run(walkPatience, func() bool { return w.kv.Get(core.OwnerKey(machineTable)).Value == "" && m.mode(core.Owned) })
}

// mode is what an operator does who wants the mode; it reports whether that could be. A table comes out of
// draining only while nobody owns it.
func (m *machineRun) mode(to core.Mode) bool {
	txn := core.Txn{Name: "mode", Then: []core.Op{
		core.Put(core.PolicyKey(machineTable), core.Encode(core.Policy{Mode: to})),
		core.Put(core.ModeKey(machineTable), core.Encode(core.Latch{Mode: to, By: "operator", At: wallEpoch})),
	}}
	if to != core.Draining {
		txn.If = []core.Cond{core.Absent(core.OwnerKey(machineTable))}
	}
	return !m.w.kvDown && m.w.commit1(txn)
}

// TestMain keeps rapid from leaving files in the tree, and gives it as many lists of actions, and as long ones, as it takes to
// meet each kind of recovery. The command line may say otherwise.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.steps": "50", "rapid.checks": "1000"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}
