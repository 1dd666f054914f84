package core

// track is what a master has to do with one target. It is volatile; everything that counts is in the
// records.
type track struct {
	target Target
	step   trackStep
	await  EffectID
	retry  alarm // look again then, whatever happens
	sweep  alarm // the next look at an owned table by ourselves
	said   string

	reason      Reason // why it does not run, and since when
	reasonSince MonoTime
	waits       alarm // since when its demand has been there, or there again after its turn
	found       int   // SSTables that the last look found above the marks
	below       bool  // what is pending is not worth asking for yet
	pending     alarm // when this master saw something pending first

	requests      []request         // to answer after the next look
	maintained    map[Kind]MonoTime // when maintenance was asked for or seen last
	now           bool              // a person asked: the next attempt of each endpoint does not wait for its budget
	rushed        map[Endpoint]bool // those that have had it
	known         Revision          // of the table's record, when the table was looked at
	contradiction Failure           // what that look showed, to be confirmed
	hasty         []hurry           // in the order in which they were sent
	adopt         *adoption
	claim         Execution // the reservation under way
	blind         blindness // looks of ours that failed
	shares        []share   // the demand as it was shared out last
	short         map[Endpoint]shortage
	busy          map[Endpoint]alarm // writers without room: from then on their shards go to anyone
	yielding      map[Endpoint]alarm // endpoints that failed: from then on they yield no more
	spare         alarm              // from then on a shunned worker will do
	starting      bool               // the RPC under way asks for a start
	watch         watch
	settle        *settlement
	sights        sights    // budgets, since when we have seen them
	last          last      // the execution that was seen last
	shunned       []shunned // workers on which executions came to nothing, the latest last
}

// request is something that somebody waits for.
type request struct {
	id   RequestID
	kind Kind // of maintenance; empty is a merge
}

type trackStep uint8

const (
	trackIdle       trackStep = iota
	trackLooking              // survey for a request or a sweep
	trackPosting              // post-demand
	trackClaiming             // survey for a reservation
	trackConfirming           // read the table's record: does the lake really contradict it?
	trackReserving            // reserve
	trackAdopting             // see adoption
	trackSending              // an RPC about the current execution
	trackSettling             // see settlement
	trackWriting              // a latch or a charge
)

// alarm is when the track wants a tick: never while it waits for an answer, since one always comes.
func (tr *track) alarm() alarm {
	switch {
	case tr.settle != nil:
		return tr.settle.alarm()
	case tr.step != trackIdle:
		return alarm{}
	case tr.retry.Set:
		return tr.retry
	}
	return earliest(tr.sweep, tr.watch.alarm())
}
