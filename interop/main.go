// Checks a log that zkapex wrote with other people's libraries, and cosigns its checkpoint with a witness of theirs.
// Argument: the folder that the test InteropTest.WritesALogThatOthersCheck wrote.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	formats "github.com/transparency-dev/formats/log"
	formatsnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"crypto/sha256"
)

const origin = "example.com/log"

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

// policyKeys are the verifier keys of the policy's logs and witnesses.
func policyKeys(path string) (logKey string, witnesses []string) {
	for _, line := range strings.Split(string(must(os.ReadFile(path))), "\n") {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == "log" {
			logKey = words[1]
		}
		if len(words) >= 3 && words[0] == "witness" {
			witnesses = append(witnesses, words[2])
		}
	}
	return logKey, witnesses
}

// folder reads a log's files as golang.org/x/mod and tessera want them.
type folder string

func (f folder) Height() int { return 8 }

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, tile := range tiles {
		// Their paths have the height of tiles in them, those of C2SP do not.
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(string(f), path))
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

func (f folder) SaveTiles([]tlog.Tile, [][]byte) {}

func (f folder) read(path string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(string(f), path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, os.ErrNotExist
	}
	return data, err
}

func (f folder) ReadCheckpoint(context.Context) ([]byte, error) { return f.read(layout.CheckpointPath) }
func (f folder) ReadTile(_ context.Context, level, index uint64, partial uint8) ([]byte, error) {
	return f.read(layout.TilePath(level, index, partial))
}
func (f folder) ReadEntryBundle(_ context.Context, index uint64, partial uint8) ([]byte, error) {
	return f.read(layout.EntriesPath(index, partial))
}

func bundleHasher(data []byte) ([][]byte, error) {
	var bundle api.EntryBundle
	if err := bundle.UnmarshalText(data); err != nil {
		return nil, err
	}
	var out [][]byte
	for _, entry := range bundle.Entries {
		hash := sha256.Sum256(append([]byte{0}, entry...))
		out = append(out, hash[:])
	}
	return out, nil
}

// openTree is the tree of a checkpoint that the log has signed, by golang.org/x/mod.
func openTree(text []byte, verifier note.Verifier) tlog.Tree {
	opened := must(note.Open(text, note.VerifierList(verifier)))
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != origin {
		check(fmt.Errorf("the origin is %q", lines[0]))
	}
	hash := must(base64.StdEncoding.DecodeString(lines[2]))
	tree := tlog.Tree{N: must(strconv.ParseInt(lines[1], 10, 64))}
	copy(tree.Hash[:], hash)
	return tree
}

func checkReceipt(path string, verifier note.Verifier) {
	head, checkpoint, found := strings.Cut(string(must(os.ReadFile(path))), "\n\n")
	lines := strings.Split(head, "\n")
	if !found || lines[0] != "c2sp.org/tlog-proof@v1" {
		check(fmt.Errorf("%s is no receipt", path))
	}
	entry := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra ")))
	index := must(strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64))
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		var hash tlog.Hash
		copy(hash[:], must(base64.StdEncoding.DecodeString(line)))
		proof = append(proof, hash)
	}
	tree := openTree([]byte(checkpoint), verifier)
	check(tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry)))
}

// cosign writes a checkpoint with the cosignature of a witness of transparency-dev, and a policy that asks for it.
func cosign(root string, text []byte, logKey string) {
	secret, public, err := note.GenerateKey(rand.Reader, "witness.example")
	check(err)
	signer := must(formatsnote.NewSignerForCosignatureV1(secret))
	opened := must(note.Open(text, note.VerifierList(must(note.NewVerifier(logKey)))))
	signed := must(note.Sign(&note.Note{Text: opened.Text, Sigs: opened.Sigs}, signer))
	witness := must(formatsnote.VKeyToCosignatureV1(public))
	check(os.MkdirAll(filepath.Join(root, "cosigned"), 0o755))
	policy := fmt.Sprintf("log %s\nwitness other %s\nquorum other\n", logKey, witness)
	check(os.WriteFile(filepath.Join(root, "cosigned", "policy"), []byte(policy), 0o644))
	check(os.WriteFile(filepath.Join(root, "cosigned", "checkpoint"), signed, 0o644))
}

func main() {
	root := os.Args[1]
	files := folder(filepath.Join(root, "log"))
	logKey, witnesses := policyKeys(filepath.Join(root, "policy"))
	verifier := must(note.NewVerifier(logKey))
	text := must(files.ReadCheckpoint(context.Background()))

	// golang.org/x/mod: the note, inclusion of entries, and that the later tree continues the earlier one.
	tree := openTree(text, verifier)
	before := openTree(must(os.ReadFile(filepath.Join(root, "checkpoint.before"))), verifier)
	reader := tlog.TileHashReader(tree, files)
	check(tlog.CheckTree(must(tlog.ProveTree(tree.N, before.N, reader)), tree.N, tree.Hash, before.N, before.Hash))
	receipts := must(filepath.Glob(filepath.Join(root, "receipts", "*.tlog-proof")))
	for _, path := range receipts {
		checkReceipt(path, verifier)
	}
	fmt.Printf("x/mod: note, %d receipts, tree of %d continues the one of %d\n", len(receipts), tree.N, before.N)

	// transparency-dev/formats: the cosignatures of our witnesses.
	var others []note.Verifier
	for _, key := range witnesses {
		others = append(others, must(formatsnote.NewVerifierForCosignatureV1(key)))
	}
	_, _, opened, err := formats.ParseCheckpoint(text, origin, verifier, others...)
	check(err)
	if len(opened.Sigs) != 1+len(witnesses) || len(witnesses) == 0 {
		check(fmt.Errorf("%d signatures of %d witnesses were verified", len(opened.Sigs)-1, len(witnesses)))
	}
	fmt.Printf("formats: %d cosignatures\n", len(witnesses))

	// tessera: every tile and every bundle of entries.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check(fsck.New(origin, verifier, files, bundleHasher, fsck.Opts{N: 2}).Check(ctx))
	fmt.Println("tessera: fsck")

	cosign(root, text, logKey)
}
