package lance

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/core"
)

// Field numbers of a Transaction.
const (
	txReadVersion  protowire.Number = 1
	txUUID         protowire.Number = 2
	txUpdateConfig protowire.Number = 110

	configTableMetadata protowire.Number = 7 // of UpdateConfig
	updateEntries       protowire.Number = 1 // of UpdateMap
	entryKey            protowire.Number = 1 // of a map entry
	entryValue          protowire.Number = 2
)

// operations by field number. Lance reserves 100 to 199 for operations.
var operations = map[protowire.Number]core.Operation{
	100: core.OpAppend,
	101: core.OpDelete,
	102: core.OpOverwrite,
	103: core.OpCreateIndex,
	104: core.OpRewrite,
	105: core.OpMerge,
	106: core.OpRestore,
	107: core.OpReserveFragments,
	108: core.OpUpdate,
	109: core.OpProject,
	110: core.OpUpdateConfig,
}

// Transaction is what the protocol needs of one transaction.
type Transaction struct {
	ReadVersion core.Version
	UUID        string
	Operation   core.Operation // OpOther for a kind that the protocol doesn't speak of, and for none
}

// ParseTransaction reads the content of a `_transactions/` file. The key is only for the error.
func ParseTransaction(key string, body []byte) (Transaction, error) {
	m, err := parse(body)
	if err != nil {
		return Transaction{}, corrupt(key, err.Error())
	}
	return transactionOf(m), nil
}

func transactionOf(m message) Transaction {
	read, _ := m.uint(txReadVersion)
	t := Transaction{ReadVersion: core.Version(read), UUID: m.text(txUUID), Operation: core.OpOther}
	for _, f := range m {
		if f.num < 100 || f.num > 199 {
			continue
		}
		// As protobuf wants it, the last member of a oneof counts.
		t.Operation = core.OpOther
		if op, ok := operations[f.num]; ok {
			t.Operation = op
		}
	}
	return t
}

// updateMetadata is the transaction of a fence: it sets one entry of the table's metadata.
func updateMetadata(read core.Version, uuid, key, value string) message {
	entry := messageField(updateEntries, textField(entryKey, key), textField(entryValue, value))
	return message{
		uintField(txReadVersion, uint64(read)),
		textField(txUUID, uuid),
		messageField(txUpdateConfig, messageField(configTableMetadata, entry)),
	}
}
