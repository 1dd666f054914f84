package core

import "fmt"

// wishRounds bounds how often a wish looks at the records again, because they changed under it.
const wishRounds = 16

// wish is one thing that an operator has asked for, from the request to its answer.
//
// It goes by linearizable looks at the records, not by what the watch has shown: an operator who was answered by
// one master may ask the next. What it writes compares what it saw; a transaction without an answer is looked
// for in the records. It is no step of the target's track, so it is answered whatever else happens to the table.
type wish struct {
	request RequestID
	asks    operation
	target  Target   // the one under way; empty while it is not known which budgets an endpoint has
	more    []Target // those that come after it
	rounds  int      // looks at this target
	doubt   bool     // a transaction got no answer, and may still take effect
	seen    Revision // of what is to be forgotten
	answer  AnswerOperator
}

// operation is what is asked of a target: a [ModeRequested], a [PolicyRequested] or a [ForgetRequested].
type operation interface {
	// reads are the records that it is judged by.
	reads(Target) []Range
	// judge decides by a look at them.
	judge(v *View, t Target, by Instance, at WallMillis) ruling
}

// ruling is what an operator's wish comes to. Without a refusal, and if it is not done already, txn does it.
type ruling struct {
	done    bool
	refused Reason
	detail  string
	txn     Txn
	forgets Revision // of the budget that is to go, as it was seen
}

func refusal(r Reason, format string, args ...any) ruling {
	return ruling{refused: r, detail: fmt.Sprintf(format, args...)}
}

// grant begins with what an operator asks for. Without a target it is about all budgets of an endpoint.
func (m *Master) grant(r RequestID, t Target, asks operation) {
	w := &wish{request: r, asks: asks, target: t}
	if t == "" {
		m.wishes[m.out.read(Prefixed(Root+"failure/"))] = w
		return
	}
	m.inspect(w)
}

func (m *Master) inspect(w *wish) {
	if w.rounds++; w.rounds > wishRounds {
		m.deny(w, refusal(ReasonKVDown, "the records of %s have changed under each of %d looks; ask again", w.target, wishRounds))
		return
	}
	m.wishes[m.out.read(w.asks.reads(w.target)...)] = w
}

// granting goes on with a wish whose look or whose transaction has been answered.
func (m *Master) granting(at Moment, w *wish, ev Event) {
	switch ev := ev.(type) {
	case Committed:
		if ev.Outcome == Applied {
			m.granted(w)
			return
		}
		w.doubt = w.doubt || ev.Outcome == Unknown
		m.inspect(w)
	case ReadDone:
		v := ViewOf(ev.Revision, ev.Records)
		switch {
		case !ev.OK:
			w.more = nil
			m.deny(w, refusal(ReasonKVDown, "the KV does not answer; ask again"))
		case w.target == "":
			w.more = v.charged(w.asks.(ForgetRequested).Endpoint)
			m.nextWish(w)
		case len(v.Broken) > 0:
			m.deny(w, refusal(ReasonModeDisagreement, "a record that %s is judged by can't be read; it was written by a newer Sluice", w.target))
		default:
			m.rule(w, w.asks.judge(v, w.target, m.cfg.Instance, at.Wall))
		}
	}
}

func (m *Master) rule(w *wish, r ruling) {
	switch {
	case r.done && w.doubt:
		m.granted(w)
	case r.done:
		m.nextWish(w)
	case r.refused != ReasonNone:
		m.deny(w, r)
	case w.seen != 0 && w.seen != r.forgets:
		m.deny(w, refusal(ReasonBackoff, "there is a newer failure on %s than the one that was to be forgotten; look at it, and ask again", w.target))
	default:
		w.seen = r.forgets
		m.wishes[m.out.commit(r.txn)] = w
	}
}

func (m *Master) granted(w *wish) {
	w.answer.Changed++
	m.nextWish(w)
}

// deny remembers the first thing that is in the way; other targets go on.
func (m *Master) deny(w *wish, r ruling) {
	if w.doubt {
		r.detail += " (an earlier try got no answer, and may still take effect)"
	}
	if w.answer.Refused == ReasonNone {
		w.answer.Refused, w.answer.Detail = r.refused, r.detail
	}
	m.nextWish(w)
}

// nextWish goes on with the next target, or answers.
func (m *Master) nextWish(w *wish) {
	if len(w.more) == 0 {
		w.answer.Request = w.request
		m.out.add(w.answer)
		return
	}
	w.target, w.more = w.more[0], w.more[1:]
	w.rounds, w.doubt, w.seen = 0, false, 0
	m.inspect(w)
}

// charged are the targets on which an endpoint has a budget.
func (v *View) charged(e Endpoint) (out []Target) {
	for _, t := range v.order {
		if v.Target(t).Failure(t, e).Present() {
			out = append(out, t)
		}
	}
	return out
}
