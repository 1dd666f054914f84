package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// actions are what the state machine may do, by a name that a person reads. Most of them only set the stage: what
// comes of it shows when time passes.
func (m *machineRun) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":                             m.check,
		"a few messages arrive":        m.arrive,
		"time passes":                  m.pass,
		"a shard is flushed":           m.flush,
		"a client commits":             func(*rapid.T) { m.table.foreign() },
		"somebody asks for a merge":    m.ask,
		"an operator sets the mode":    func(t *rapid.T) { m.mode(drawOne(t, "mode", core.Draining, core.Owned)) },
		"the next answer gets lost":    m.lose,
		"the next call arrives twice":  func(*rapid.T) { m.next.twice = true },
		"storage is odd once":          m.odd,
		"storage holds manifests":      m.hold,
		"a held manifest lands":        m.land,
		"a process is killed":          m.kill,
		"a process is stopped":         m.stop,
		"a process is cut off":         m.cut,
		"the KV goes away or comes":    func(*rapid.T) { m.w.kvDown = !m.w.kvDown; m.w.changed() },
		"engines behave differently":   m.script,
		"the engine that runs is shot": m.shoot,
	}
}

func drawOne[V any](t *rapid.T, what string, of ...V) V { return rapid.SampledFrom(of).Draw(t, what) }

// process draws one of the four by its name.
func (m *machineRun) process(t *rapid.T) *process {
	return m.w.process(drawOne(t, "process", "m1", "m2", "w1", "w2"))
}

func (m *machineRun) arrive(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "messages") {
		m.w.step(m.w.now.Add(time.Minute))
	}
}

func (m *machineRun) pass(t *rapid.T) {
	m.w.run(drawOne(t, "time", time.Second, 10*time.Second, 40*time.Second, 2*time.Minute), never)
}

func (m *machineRun) flush(t *rapid.T) {
	m.table.flush(m.table.shard(drawOne(t, "shard", core.ShardID("s001"), "s002")))
}

func (m *machineRun) ask(t *rapid.T) {
	p := m.w.process(drawOne(t, "master", "m1", "m2"))
	m.w.deliver(p, core.MergeRequested{Request: m.w.newRequest(), Target: machineTable, Now: true})
}

func (m *machineRun) lose(t *rapid.T) {
	m.next.lost, m.next.done = drawOne(t, "kind", "kv", "lake", "rpc"), rapid.Bool().Draw(t, "after it took effect")
}

// odd is what storage does with the next manifest that is sent to it.
func (m *machineRun) odd(t *rapid.T) {
	later := 90 * time.Second // when its execution may have been recovered
	m.next.fate = map[string]putFate{
		"silent, it lands later":  {lands: later},
		"silent, it has landed":   {},
		"silent, it never lands":  {never: true},
		"an error, it has landed": {answer: 500},
		"an error, it comes late": {answer: 503, lands: later},
		"an early conflict":       {answer: 409, lands: later},
	}[drawOne(t, "storage is", "silent, it lands later", "silent, it has landed", "silent, it never lands", "an error, it has landed", "an error, it comes late", "an early conflict")]
}

func (m *machineRun) hold(*rapid.T) { m.w.holding = !m.w.holding }

func (m *machineRun) land(t *rapid.T) {
	if len(m.w.heldPut) == 0 {
		t.SkipNow()
	}
	land := m.w.heldPut[0]
	m.w.heldPut = m.w.heldPut[1:]
	land()
}

// kill ends a process, with all that it knew, or starts it anew.
func (m *machineRun) kill(t *rapid.T) {
	p := m.process(t)
	if p.machine == nil {
		m.w.boot(p)
		return
	}
	m.w.say("---", "%s is killed", p.name)
	m.w.kill(p)
}

func (m *machineRun) stop(t *rapid.T) {
	p := m.process(t)
	switch {
	case p.machine == nil:
		t.SkipNow()
	case p.paused:
		m.w.resume(p)
	default:
		m.w.say("---", "%s is stopped", p.name)
		m.w.pause(p)
	}
}

// cut cuts a process off from the KV, from the other processes, or from nothing any more.
func (m *machineRun) cut(t *rapid.T) {
	switch p := m.process(t); drawOne(t, "from", "nothing", "the KV", "the others") {
	case "the KV":
		m.w.cutKV(p)
	case "the others":
		p.noRPC = true
	default:
		m.w.heal(p)
	}
}

func (m *machineRun) script(t *rapid.T) {
	m.w.engines = map[string]engineScript{
		"well": {}, "silently": {silent: true}, "deafly": {deaf: true}, "with tombstones": {strict: true}, "as liars": {lying: true},
		"as rogues": {rogue: rogueMarks}, "by failing": {fail: core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 11"}},
		"slowly": {trickle: time.Minute}, "by dying at the commit": {dies: true},
	}[drawOne(t, "they behave", "well", "silently", "deafly", "with tombstones", "as liars", "as rogues", "by failing", "slowly", "by dying at the commit")]
}

func (m *machineRun) shoot(t *rapid.T) {
	for _, p := range m.w.procs {
		if en := p.engines[machineTable]; en != nil && en.alive() {
			m.w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
			return
		}
	}
	t.SkipNow()
}
