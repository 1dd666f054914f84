package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
)

// No decision of the protocol compares clocks of two machines. But ages are shown and retries are planned by
// them, cleaning up waits by them, and S3 refuses requests that are a quarter of an hour off.
const (
	skewToMention = 5 * time.Second
	skewToRefuse  = 5 * time.Minute
)

// compare judges a clock that showed theirs at some moment between from and to of ours. coarse is how much a
// clock that counts in whole units may show too little.
func compare(check, whose string, theirs, from, to time.Time, coarse time.Duration) Finding {
	const hint = "let both machines take their time from NTP"
	off := max(theirs.Sub(to), from.Sub(theirs)-coarse, 0)
	where := "ahead"
	if theirs.Before(from) {
		where = "behind"
	}
	switch {
	case off >= skewToRefuse:
		return failed(check, hint, errors.New(whose+" is "+off.Round(time.Second).String()+" "+where))
	case off >= skewToMention:
		return warning(check, hint, "%s is %v %s", whose, off.Round(time.Second), where)
	}
	return passed(check, "%s agrees with this machine's", whose)
}

// lakeClock compares this machine's clock with the one that dates objects.
func lakeClock(ctx context.Context, l lake.Lake, folder string) Finding {
	const check = "lake-clock"
	key := folder + "clock"
	from := time.Now()
	if err := l.Put(ctx, key, []byte("now")); err != nil {
		return failed(check, "see that this process may write to the lake", err)
	}
	to := time.Now()
	info, err := l.Head(ctx, key)
	if err != nil {
		return failed(check, "see that this process may read from the lake", err)
	}
	return compare(check, "the lake's clock", info.ModTime, from, to, time.Second)
}
