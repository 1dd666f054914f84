package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/sluice-data/sluice/core"
)

// TestScenarios plays testdata/scenarios/*.txt: each file is one story, told to the miniature world as
// commands, with what the machines decided and what the lake saw as its golden text. Rewrite them with
//
//	go test ./sim -run TestScenarios -rewrite
func TestScenarios(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &stage{w: newWorld(), limits: core.Limits{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := []string{d.Cmd}
			for _, a := range d.CmdArgs {
				lines[0] += " " + a.String()
			}
			if d.Input != "" {
				lines = append(lines, strings.Split(d.Input, "\n")...)
			}
			for _, line := range lines {
				if err := s.play(line); err != nil {
					d.Fatalf(t, "%q: %v", line, err)
				}
			}
			return s.seen()
		})
		for _, broken := range s.w.checks.broken {
			t.Errorf("%s: %s; again: go test ./sim -run 'TestScenarios/%s'", path, broken, t.Name())
		}
	})
}

// stage is where one scenario plays.
type stage struct {
	w       *world
	limits  core.Limits
	pass    core.PassLimits
	said    int
	names   []string
	backups map[core.Target]*table
	kv      *KV
}

// seen is what has happened since it was asked last.
func (s *stage) seen() string {
	var b strings.Builder
	for _, line := range s.w.trace[s.said:] {
		b.WriteString(random.ReplaceAllStringFunc(line.String(), s.name) + "\n")
	}
	s.said = len(s.w.trace)
	for _, broken := range s.w.checks.broken {
		b.WriteString("BROKEN " + broken + "\n")
	}
	return b.String()
}

// random finds the names that chance has given. They are shown by the order in which they are seen, so that
// a golden text changes only when the story does.
var random = regexp.MustCompile(`\bx[0-9]+\b`)

func (s *stage) name(x string) string {
	i := slices.Index(s.names, x)
	if i < 0 {
		s.names = append(s.names, x)
		i = len(s.names) - 1
	}
	return fmt.Sprintf("#%d", i+1)
}

// command is one line of a scenario: a verb, its objects, and its settings.
type command struct {
	verb    string
	objects []string
	set     map[string]string
}

func parse(line string) command {
	c := command{set: map[string]string{}}
	for i, f := range strings.Fields(line) {
		key, value, isSetting := strings.Cut(f, "=")
		switch {
		case i == 0:
			c.verb = f
		case isSetting:
			c.set[key] = value
		default:
			c.objects = append(c.objects, f)
		}
	}
	return c
}

func (c command) object(i int) string {
	if i < len(c.objects) {
		return c.objects[i]
	}
	return ""
}

func (c command) number(key string, otherwise int) int {
	n, err := strconv.Atoi(c.set[key])
	if err != nil {
		return otherwise
	}
	return n
}

func (c command) duration(s string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return otherwise
	}
	return d
}

// play carries out one command.
func (s *stage) play(line string) error {
	c, w := parse(line), s.w
	if verb, ok := verbs[c.verb]; ok {
		return verb(s, c)
	}
	p := w.process(c.object(0))
	if p == nil {
		return fmt.Errorf("no such command or no such process")
	}
	switch c.verb {
	case "pause":
		w.pause(p)
	case "resume":
		w.resume(p)
	case "kill":
		w.kill(p)
	case "restart":
		if p.machine != nil {
			w.kill(p)
		}
		w.boot(p)
	case "cut":
		if c.object(1) == "kv" {
			w.cutKV(p)
		} else {
			p.noRPC = true
		}
	case "heal":
		w.heal(p)
	case "hold":
		p.holding = c.object(1)
	case "release":
		held := p.held
		p.holding, p.held = "", nil
		for _, send := range held {
			send()
		}
	case "twin":
		w.twin(p)
	case "merge":
		w.deliver(p, core.MergeRequested{Request: w.newRequest(), Target: core.Target(c.object(1)), Now: c.set["now"] == "yes", Kind: core.Kind(c.set["kind"])})
	case "adopt":
		w.deliver(p, core.AdoptRequested{Request: w.newRequest(), Target: core.Target(c.object(1)), Gone: c.set["gone"] == "yes"})
	case "mode", "set-policy", "forget":
		w.deliver(p, c.operation(w.newRequest()))
	case "flushed":
		w.deliver(p, core.Flushed{Target: core.Target(c.object(1))})
	case "drain-worker":
		w.deliver(p, core.DrainRequested{})
	case "why":
		m, ok := p.machine.(*core.Master)
		if !ok {
			return fmt.Errorf("%s is no master", p.name)
		}
		why := m.WhyNot(core.Target(c.object(1)))
		w.say(p.name, "%s does not run: %s%s", c.object(1), why.Reason, s.window(c, why))
		s.shares(c, p, why)
	case "health":
		m, ok := p.machine.(*core.Master)
		if !ok {
			return fmt.Errorf("%s is no master", p.name)
		}
		pulse, _ := m.Pulse(core.Target(c.object(1)))
		w.say(p.name, "%s: %s", c.object(1), pulse.Health(w.now, s.limits))
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

// window is since when something is in the way, and until when, if the scenario wants to know.
func (s *stage) window(c command, why core.Waiting) string {
	if c.set["window"] == "" {
		return ""
	}
	out := fmt.Sprintf(", since %v", s.w.now.Since(why.Since).Round(time.Second))
	if why.Until > 0 {
		out += fmt.Sprintf(", for another %v at most", why.Until.Since(s.w.now).Round(time.Second))
	}
	return out
}

// until are the conditions that a run may wait for: "running(events)".
func (s *stage) until(text string) (func() bool, error) {
	what, rest, _ := strings.Cut(text, "(")
	target := core.Target(strings.TrimSuffix(rest, ")"))
	exec := func() core.Execution { return Get[core.Execution](s.w.kv, core.ExecutionKey(target)) }
	switch what {
	case "running": // and its engine is up
		return func() bool {
			_, err := s.engine(command{objects: []string{string(target)}})
			return err == nil && exec().Phase == core.Running
		}, nil
	case "reserved", "finished", "uncertain", "recovering", "recovered":
		return func() bool { return exec().Phase == core.Phase(what) }, nil
	case "admitted":
		return func() bool {
			return len(Get[core.Watermarks](s.w.kv, core.AdmittedKey(target)).Versions) > 0
		}, nil
	case "held":
		return func() bool { return len(s.w.process(string(target)).held) > 0 }, nil
	case "put":
		return func() bool { return len(s.w.heldPut) > 0 }, nil
	case "landed":
		return func() bool {
			tb := s.w.lake.tables[target]
			return fmt.Sprintf("execution %d", exec().Number) == tb.head().by
		}, nil
	case "adopted":
		return func() bool { return Get[core.TableRecord](s.w.kv, core.TableKey(target)).Adopted > 0 }, nil
	case "free":
		return func() bool { return exec().ID == "" }, nil
	case "tidy": // nothing is left that a cleanup could take away
		return func() bool { return s.w.lake.tables[target].tidy() && exec().ID == "" }, nil
	case "compacted":
		return func() bool { return s.w.lake.tables[target].head().Small < 2 && exec().ID == "" }, nil
	case "indexed":
		return func() bool { return s.w.lake.tables[target].head().Uncovered == 0 && exec().ID == "" }, nil
	case "merged":
		return func() bool {
			for name, tb := range s.w.lake.tables {
				if (name == target || target == "") && tb.pending() > 0 {
					return false
				}
			}
			return exec().ID == ""
		}, nil
	}
	return nil, fmt.Errorf("no such condition %q", what)
}
