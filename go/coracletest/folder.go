package coracletest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const folderPrefix = "coracletest-"

// sweepAfter is the age from which a folder without a server is left over from a test process that was killed.
const sweepAfter = time.Minute

// newFolder creates a folder for the state of a server, and removes those that killed test processes have left.
func newFolder() (string, error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	for _, folder := range left {
		info, err := os.Stat(folder)
		if err == nil && info.IsDir() && time.Since(info.ModTime()) > sweepAfter && isLeftOver(folder) {
			_ = os.RemoveAll(folder)
		}
	}
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return "", fmt.Errorf("coracletest: cannot create a folder for the server: %w", err)
	}
	return dir, nil
}
