package coracletest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const program = "coracle"

// binary finds the program: CORACLE_BIN, then the PATH, then the user's cache folder.
func binary() (string, error) {
	if path := os.Getenv("CORACLE_BIN"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("coracletest: CORACLE_BIN is %q, which is no program: set it to the path of coracle %s", path, Version)
		}
		return filepath.Abs(found)
	}
	if found, err := exec.LookPath(program); err == nil {
		return filepath.Abs(found)
	}
	return cached()
}

// cached finds the program in the user's cache folder, and verifies its checksum.
func cached() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("coracletest: there is no program coracle on the PATH and no home folder: set CORACLE_BIN to the path of coracle %s", Version)
		}
	}
	path := filepath.Join(cache, program, Version, program)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("coracletest: there is no program coracle: set CORACLE_BIN to the path of coracle %s, or put it on the PATH or at %s", Version, path)
	}
	if err != nil {
		return "", fmt.Errorf("coracletest: %w", err)
	}
	defer file.Close()
	sums := path + ".sha256"
	wanted, err := os.ReadFile(sums)
	if err != nil {
		return "", fmt.Errorf("coracletest: %s cannot be verified: write its SHA-256 to %s, as sha256sum does", path, sums)
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", fmt.Errorf("coracletest: %w", err)
	}
	sum, _, _ := strings.Cut(strings.TrimSpace(string(wanted)), " ")
	if found := hex.EncodeToString(digest.Sum(nil)); !strings.EqualFold(found, sum) {
		return "", fmt.Errorf("coracletest: the SHA-256 of %s is %s and not the one in %s: download coracle %s again", path, found, sums, Version)
	}
	return path, nil
}

// wrongVersion is the error for a program of another version.
func wrongVersion(path, version string) error {
	return fmt.Errorf("coracletest: %s is coracle %s, and this module needs %s: set CORACLE_BIN to the path of coracle %s", path, version, Version, Version)
}
