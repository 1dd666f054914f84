package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-data/sluice/core"
)

// Problem is the body of every error (RFC 9457), with the typed code or the reason where there is one.
type Problem struct {
	huma.ErrorModel
	Code   core.Code   `json:"code,omitempty"`
	Reason core.Reason `json:"reason,omitempty"`
}

func newProblem(status int, detail string) *Problem {
	return &Problem{ErrorModel: huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail}}
}

// Error is the detail; the code comes first if there is one.
func (p *Problem) Error() string {
	if p.Code != core.CodeOK {
		return string(p.Code) + ": " + p.Detail
	}
	return p.Detail
}

// problemOf finds the status that goes with an error.
func problemOf(err error) error {
	var p *Problem
	var f core.Failure
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &f):
		p := newProblem(statusOf(f.Code), f.Detail)
		p.Code = f.Code
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "no answer in time: "+err.Error())
	}
	return newProblem(http.StatusInternalServerError, err.Error())
}

// statusOf says whose matter a failure is: the table is absent (404), it can't be merged as it is (422), or
// the same request may succeed later (503).
func statusOf(c core.Code) int {
	switch {
	case c == core.CodeTableMissing:
		return http.StatusNotFound
	case c.Class() == core.Data, c.Class() == core.Config:
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

// refused says why a merge can't be had now, and what to do about it.
func refused(t core.Target, r core.Reason) *Problem {
	name := string(t)
	detail := name + " can't be merged now: " + string(r)
	switch r {
	case core.ReasonNotSelected:
		detail = name + " is not owned there: restart dev with --owned " + name
	case core.ReasonDirect:
		detail = name + " is merged by the worker that writes it, when enough is pending; to have it merged for you, own it: --owned " + name
	case core.ReasonLatched:
		detail = name + " was owned by an earlier process and is not owned there now: restart dev with --owned " + name
	case core.ReasonDraining:
		detail = name + " is draining: nothing new is merged until it is owned again"
	case core.ReasonModeDisagreement:
		detail = name + " is owned by one process and not by another: give all of them the same --owned"
	case core.ReasonRecovering:
		detail = name + " is being adopted already"
	}
	p := newProblem(http.StatusConflict, detail)
	p.Reason = r
	return p
}
