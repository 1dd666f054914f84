// Package lance reads and extends the manifests of Lance tables, in pure Go: what the protocol must know
// of a table (its newest version, marks, shards and their SSTables), and the one kind of commit that it
// makes itself, the fence.
//
// A base manifest's file:
//
//	[u32 length, IndexSection] [u32 length, Transaction] [u32 length, Manifest]
//	[u64 position of Manifest] [u16 major] [u16 minor] "LANC"
//
// and a shard manifest's is one message. All messages are protobuf. There is no generated code: a message
// is a list of fields with their bytes, of which we know a few by number, so a fence keeps what it doesn't
// know byte for byte and in place.
//
// Two rules hold everywhere. What is newest is told by a listing of names alone, never by a hint file. And
// a listing or read that failed is an error, never "absent", because "absent" would let a version be
// taken for free that an admitted commit may still occupy.
//
// Errors carry a [core.Failure], to be found with errors.As.
package lance
