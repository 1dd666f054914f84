package core

// outbox collects the effects of one step, in order, and numbers those that are answered.
type outbox struct {
	effects []Effect
	last    EffectID
}

func (o *outbox) id() EffectID { o.last++; return o.last }

func (o *outbox) add(e Effect) { o.effects = append(o.effects, e) }

func (o *outbox) commit(t Txn) EffectID {
	id := o.id()
	o.add(Commit{ID: id, Txn: t})
	return id
}

func (o *outbox) read(ranges ...Range) EffectID {
	id := o.id()
	o.add(Read{ID: id, Ranges: ranges})
	return id
}

func (o *outbox) survey(t Target) EffectID {
	id := o.id()
	o.add(Survey{ID: id, Target: t})
	return id
}

// surveyDeep looks at the versions of the base as well, which takes longer.
func (o *outbox) surveyDeep(t Target) EffectID {
	id := o.id()
	o.add(Survey{ID: id, Target: t, Deep: true})
	return id
}

func (o *outbox) note(e Execution, code Code, text string) {
	o.add(Note{Target: e.Target, Execution: e.ID, Code: code, Text: text})
}

// take hands the effects over.
func (o *outbox) take() []Effect {
	out := o.effects
	o.effects = nil
	return out
}

// answered is the effect that an event answers; 0 if it answers none.
func answered(ev Event) EffectID {
	switch ev := ev.(type) {
	case Committed:
		return ev.Effect
	case ReadDone:
		return ev.Effect
	case Surveyed:
		return ev.Effect
	case FenceDone:
		return ev.Effect
	case NumberDone:
		return ev.Effect
	case Drained:
		return ev.Effect
	case Deleted:
		return ev.Effect
	case Replied:
		return ev.Effect
	}
	return 0
}
