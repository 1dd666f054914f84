// Package stock runs the stock, unmodified clients of a Lance table, as its users run them: LanceDB with
// LSM writes, pylance's ShardWriter, and plain pylance as everybody else who writes to a base table.
//
// The demo, the tests of the other adapters and the bench write and read through it. It shares no code with
// the engine: the view before a merge comes from pylance's own LSM scanner and from the record that the
// writers keep of what they wrote, so an engine that loses a row can't also hide it.
//
// The clients live in one Python process (see [Start]), because importing them costs seconds. The Python is
// embedded; `python -m stock` with adapters/stock/python on PYTHONPATH runs it by hand.
package stock
