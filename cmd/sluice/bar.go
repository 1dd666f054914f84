package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars show how merges go: as moving bars on a terminal, else as plain lines.
type bars struct {
	out      *os.File
	terminal bool
	off      bool
	unit     string // of what is counted
}

func newBars(out *os.File) bars {
	return bars{out: out, terminal: isatty.IsTerminal(out.Fd()), unit: "rows"}
}

// barEvery is how often a bar is drawn, lineEvery how often a plain line is printed.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// watch shows one merge until ctx ends. poll returns what is done and what there is in all.
func (b bars) watch(ctx context.Context, name string, poll func() (done, total int64)) {
	switch {
	case b.off:
		<-ctx.Done()
	case b.terminal:
		b.draw(ctx, name, poll)
	default:
		b.print(ctx, name, poll)
	}
}

func (b bars) draw(ctx context.Context, name string, poll func() (done, total int64)) {
	p := mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(48), mpb.WithAutoRefresh())
	// NB: a bar that is made with a total is complete once it reaches it, and can't go on; here it is for the
	// end to say, so it is made without one.
	bar := p.New(0, mpb.BarStyle(),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d "+b.unit, decor.WCSyncSpace), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace)),
	)
	every := time.NewTicker(barEvery)
	defer every.Stop()
	for {
		done, total := poll()
		bar.SetTotal(total, false)
		bar.SetCurrent(min(done, total))
		select {
		case <-every.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	if done, total := poll(); done < total {
		bar.Abort(false)
	} else {
		bar.SetTotal(total, true)
	}
	p.Wait()
}

func (b bars) print(ctx context.Context, name string, poll func() (done, total int64)) {
	said := int64(-1)
	say := func() {
		if done, total := poll(); done != said {
			said = done
			fmt.Fprintf(b.out, "%s: %d of %d %s\n", name, done, total, b.unit)
		}
	}
	say()
	every := time.NewTicker(lineEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-every.C:
			say()
		}
	}
	say()
}
