import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A small separate file system; disposing of it unmounts it. */
export type SmallDisk = AsyncDisposable &
  Readonly<{
    path: string;
    /** Writes until the disk is full. */
    fill: () => Promise<void>;
    /** Frees the space again. */
    empty: () => Promise<void>;
    remount: (how: "ro" | "rw") => void;
  }>;

const fillerBytes = 1_024;

function run(command: string, args: readonly string[], descriptors: readonly number[] = []): boolean {
  return spawnSync(command, args, { stdio: ["ignore", "ignore", "ignore", ...descriptors] }).status === 0;
}

export async function mountSmallDisk(kibibytes: number): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), "gatehouse-disk-"));
  if (!run("mount", ["-t", "tmpfs", "-o", `size=${kibibytes}k`, "tmpfs", path])) {
    throw new Error(`tmpfs can't be mounted at ${path}`);
  }
  const filler = join(path, "filler");
  const remount = (how: "ro" | "rw") => {
    if (!run("mount", ["-o", `remount,${how}`, path])) throw new Error(`${path} can't be mounted ${how}`);
  };
  return {
    path,
    remount,
    empty: () => rm(filler),
    fill: async () => {
      for (;;) {
        try {
          await writeFile(filler, "x".repeat(fillerBytes), { flag: "a" });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
          throw error;
        }
      }
    },
    [Symbol.asyncDispose]: async () => {
      run("umount", ["--lazy", path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/**
 * Mounts a FUSE file system without a server over a directory, so that every call to it hangs, as on an NFS mount whose server is down.
 * Disposing of the mount fails all hanging calls, and unmounts it from the directory.
 */
export function mountHangingDisk(path: string): Disposable {
  const device = openSync("/dev/fuse", "r+");
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
  if (!run("mount", ["-i", "-t", "fuse", "-o", options, "gatehouse-hanging", path], [device])) {
    closeSync(device);
    throw new Error(`a FUSE file system can't be mounted at ${path}`);
  }
  let isUnmounted = false;
  return {
    [Symbol.dispose]: () => {
      if (isUnmounted) return;
      isUnmounted = true;
      closeSync(device);
      run("umount", ["--lazy", path]);
    },
  };
}

/** Checks whether this user may mount such file systems. */
export async function mayMount(): Promise<boolean> {
  try {
    await using disk = await mountSmallDisk(64);
    using _ = mountHangingDisk(disk.path);
    return true;
  } catch {
    // Skipped tests report the reason.
    return false;
  }
}
