package sim

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Verdict is what came of a run.
type Verdict string

// The verdicts. A checker that ran out of its time has found nothing, which is no pass.
const (
	Clean    Verdict = "clean"
	Crash    Verdict = "crash"
	Safety   Verdict = "safety"
	Liveness Verdict = "liveness"
	Timeout  Verdict = "checker-timeout"
)

// Options say what to run.
type Options struct {
	Seed  uint64
	Hours float64 // of faults; 0 means 1
	// Profile is that of the run; nil draws it from the seed.
	Profile *Profile
	// Choices are those to replay; nil draws them from the seed.
	Choices []Choice
	// Until ends the run after this many steps; 0 means never.
	Until int
	// Timeline keeps a line for everything that is worth one.
	Timeline bool
	// Digests keeps the digest after each step.
	Digests bool
	// CheckTime bounds each search for an order that explains a history, where the true one does not; 0 means 10 s.
	CheckTime time.Duration
	// Forget keeps no choices, whose number grows with the run; run the seed again to get its trace.
	Forget bool
	// History takes the history of everything that was asked and answered, one operation a line; nil keeps none.
	History io.Writer
	// Look is called each time that so much virtual time has passed, and sees the process that simulates.
	Look  func()
	Every time.Duration

	record *Recording
}

// Result is what came of one run.
type Result struct {
	Seed     uint64
	Hours    float64
	Profile  Profile
	Verdict  Verdict
	Problem  string
	Steps    int
	Merges   int
	MergesOf map[core.Target]int // the same by table
	Faults   int
	Judged   int // operations of histories
	Virtual  time.Duration
	Digest   uint64
	Choices  []Choice
	Coverage map[string]int
	Timeline []Line
	Spans    []Span // with the timeline
	Digests  []uint64
	State    string
}

const (
	warmUp   = time.Minute
	maxSteps = 20_000_000
)

// Run runs one seed.
func Run(o Options) (res Result) {
	if o.Hours == 0 {
		o.Hours = 1
	}
	if o.CheckTime == 0 {
		o.CheckTime = checkTime
	}
	src := newSource(o.Seed)
	if o.Choices != nil {
		src = replaying(o.Seed, o.Choices)
	}
	src.forget = o.Forget
	p := newProfile(o.Seed, o.Hours)
	if o.Profile != nil {
		p = *o.Profile
	}
	r := newRun(p, src, o.record)
	r.w.quietly = !o.Timeline
	r.until = o.Until > 0
	r.w.history = newHistory(r.w, o.CheckTime, o.History)
	if o.Digests {
		r.w.digests = []hash{}
	}
	defer func() {
		if p := recover(); p != nil {
			res.Verdict, res.Problem = Crash, fmt.Sprintf("panic: %v\n%s", p, where(debug.Stack()))
		}
		if err := r.w.history.log.end(); err != nil && res.Verdict == Clean {
			res.Verdict, res.Problem = Crash, fmt.Sprintf("write the history: %v", err)
		}
		r.report(&res)
	}()
	res.Verdict, res.Problem = r.play(o)
	return res
}

// where keeps of a stack what names our own code.
func where(stack []byte) string {
	var lines []string
	for line := range strings.SplitSeq(string(stack), "\n") {
		if strings.Contains(line, "sluice/core.") || strings.Contains(line, "sluice/sim.") {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

func (r *run) report(res *Result) {
	w := r.w
	res.Seed, res.Hours, res.Profile = r.profile.Seed, r.profile.Hours, r.profile
	res.Steps, res.Virtual, res.Digest = w.steps, time.Duration(w.now), uint64(w.digest)
	res.Choices, res.Coverage, res.Timeline = r.src.made, w.cover, w.trace
	res.Spans = w.spans
	res.Judged = w.history.judged
	res.MergesOf = w.checks.merged
	res.Merges, res.Faults = w.cover.merges(), r.src.faults
	for _, d := range w.digests {
		res.Digests = append(res.Digests, uint64(d))
	}
	switch {
	case r.until:
		res.State = r.everything()
	case res.Verdict != Clean:
		res.State = r.state()
	}
}

// play goes through the phases of a run.
func (r *run) play(o Options) (Verdict, string) {
	w := r.w
	stop := func() bool {
		return len(w.checks.broken) > 0 || w.steps > maxSteps || o.Until > 0 && w.steps >= o.Until
	}
	broken := func() (Verdict, string, bool) {
		switch {
		case len(w.checks.broken) > 0:
			return Safety, w.checks.broken[0], true
		case o.Until > 0 && w.steps >= o.Until:
			return Clean, "", true
		case w.steps > maxSteps:
			return Crash, fmt.Sprintf("%d steps are too many for the time that passed", w.steps), true
		}
		return "", "", false
	}
	if o.Look != nil {
		r.look(o)
	}
	w.run(warmUp, stop)
	r.stage, r.storm.over = storming, false
	if out(Canary) {
		w.checks.fail(0, "the canary is dead, as it should be")
	}
	w.run(time.Duration(o.Hours*float64(time.Hour)), stop)
	if v, problem, ok := broken(); ok {
		return v, problem
	}
	w.run(2*time.Hour, func() bool { return !w.plot.lasts() || stop() })
	w.say("---", "the faults are over for %s and %s", r.names[0], r.names[1])
	r.heal()
	patience := r.patience()
	quiet := w.run(patience, func() bool { return r.quiet() || stop() })
	if v, problem, ok := broken(); ok {
		return v, problem
	}
	if is := r.mended(); is != "" {
		return Crash, "something was mended after the faults: " + is
	}
	if !quiet {
		return Liveness, fmt.Sprintf("invariant 8: not everything is merged %v after the faults: %s", patience, r.pending())
	}
	return w.history.verdict()
}

// look calls whoever wants to see, again and again.
func (r *run) look(o Options) {
	r.w.after(o.Every, func() {
		o.Look()
		r.look(o)
	})
}

// pending says what is not merged, and why.
func (r *run) pending() string {
	var all []string
	for _, t := range r.targets {
		n, owner := r.waiting(t), Get[core.Execution](r.w.kv, core.ExecutionKey(t))
		if n == 0 && owner.ID == "" && r.kept(t) {
			continue
		}
		why := ""
		if m, ok := r.core[0].machine.(*core.Master); ok {
			why = string(m.Why(t))
		}
		all = append(all, fmt.Sprintf("%s has %d pending%s and execution %d %q on %s: %s", t, n, r.unkept(t), owner.Number, owner.Phase, owner.Endpoint, why))
	}
	return strings.Join(all, "; ")
}
