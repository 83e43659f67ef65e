//go:build unix && !solaris && !aix

package coracletest

import (
	"os"
	"path/filepath"
	"syscall"
)

// isLeftOver says whether no server uses the folder: a server holds a lock on the file `lock` in it.
func isLeftOver(folder string) bool {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR, 0)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
