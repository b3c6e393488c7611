package receipt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// MakeTileDir makes the directory of the tiles of the log, if its other files are there: who confines itself needs its
// name first. A link is refused: who confines itself would be let write to where it leads.
func MakeTileDir(log string) (string, error) {
	side, err := openDirectory(sideDir(log), os.Lstat, os.OpenRoot)
	if err != nil {
		return "", err
	}
	defer side.Close()
	if err := side.Mkdir(tilesName, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make %s: %w", tileDir(log), err)
	}
	tiles, err := openTilesIn(log, side)
	if err != nil {
		return "", err
	}
	return tileDir(log), tiles.Close()
}

// openTiles opens the directory of the tiles. Nothing is read or written outside it, wherever links in it lead.
func openTiles(log string) (*os.Root, error) {
	side, err := openDirectory(sideDir(log), os.Lstat, os.OpenRoot)
	if err != nil {
		return nil, err
	}
	defer side.Close()
	return openTilesIn(log, side)
}

func openTilesIn(log string, side *os.Root) (*os.Root, error) {
	here := func(string) string { return tilesName }
	return openDirectory(tileDir(log),
		func(path string) (os.FileInfo, error) { return side.Lstat(here(path)) },
		func(path string) (*os.Root, error) { return side.OpenRoot(here(path)) })
}

// openDirectory opens what is a directory itself, and the same one when it is open.
func openDirectory(path string, look func(string) (os.FileInfo, error),
	open func(string) (*os.Root, error)) (*os.Root, error) {
	info, err := look(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&os.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed: remove it", path)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory: move it away", path)
	}
	root, err := open(path)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, fmt.Errorf("%s has just changed: somebody else is modifying it", path)
	}
	return root, nil
}

// readSide reads a file of the tiles that has exactly so many bytes, or at most, if size is negative.
func readSide(log, name string, size int64) ([]byte, error) {
	tiles, err := openTiles(log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	defer tiles.Close()
	if info, err := tiles.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is missing, or not a regular file", errTiles, name)
	}
	f, err := tiles.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || size >= 0 && info.Size() != size || size < 0 && info.Size() > -size {
		return nil, fmt.Errorf("%w: the size of %s", errTiles, name)
	}
	raw := make([]byte, info.Size())
	if _, err := f.ReadAt(raw, 0); err != nil && len(raw) > 0 {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	return raw, nil
}

// writeSide replaces a file of the tiles, whole, and syncs nothing.
func writeSide(log, name string, data []byte) error {
	tiles, err := openTiles(log)
	if err != nil {
		return err
	}
	defer tiles.Close()
	dir := filepath.Dir(name)
	if err := tiles.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh := filepath.Join(dir, ".new-"+rand.Text())
	f, err := tiles.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = tiles.Rename(fresh, name)
	}
	if err != nil {
		err = errors.Join(err, tiles.Remove(fresh))
	}
	return err
}

// removeSide removes a file of the tiles, and its directory if nothing else is in it.
func removeSide(log, name string) {
	if tiles, err := openTiles(log); err == nil {
		_ = tiles.Remove(name)
		if dir := filepath.Dir(name); dir != "." {
			_ = tiles.Remove(dir)
		}
		tiles.Close()
	}
}
