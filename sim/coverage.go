package sim

import (
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// coverage counts what a run has reached: events, effects, transactions, refusals, and rare situations.
type coverage map[string]int

func (c coverage) event(ev core.Event)   { c["event "+kindOf(ev)]++ }
func (c coverage) effect(e core.Effect)  { c["effect "+kindOf(e)]++ }
func (c coverage) transaction(n string)  { c["transaction "+n]++ }
func (c coverage) phase(p core.Phase)    { c["phase "+string(p)]++ }
func (c coverage) rare(what string)      { c["rare: "+what]++ }
func (c coverage) refused(r core.Reason) { c["reason "+string(r)]++ }
func (c coverage) rule(r core.Rule)      { c["rule "+string(r)]++ }
func (c coverage) fault(what string)     { c["fault: "+what]++ }

// reasons notes why each table does not run, as a master sees it.
func (c coverage) reasons(w *world, p *process) {
	m, ok := p.machine.(*core.Master)
	if !ok {
		return
	}
	for _, t := range sortedKeys(w.lake.tables) {
		c.refused(m.Why(t))
	}
}

func (c coverage) merges() int { return c["merged"] }

// kindOf is the name of an event's or an effect's type; the switch spares the frequent ones a detour.
func kindOf(v any) string {
	switch v.(type) {
	case core.Tick:
		return "Tick"
	case core.Changed:
		return "Changed"
	case core.Committed:
		return "Committed"
	case core.Commit:
		return "Commit"
	case core.Survey:
		return "Survey"
	case core.Surveyed:
		return "Surveyed"
	case core.SendProbe:
		return "SendProbe"
	case core.StatusRequested:
		return "StatusRequested"
	case core.AnswerStatus:
		return "AnswerStatus"
	case core.Replied:
		return "Replied"
	case core.EngineReported:
		return "EngineReported"
	case core.Note:
		return "Note"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "core.")
}
