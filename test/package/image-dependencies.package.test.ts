import { execFile } from "node:child_process";
import { cp, mkdtemp, open, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../style/rooms.ts";

const run = promisify(execFile);

/** `e_machine` of an ELF header (System V ABI): a program's architecture. */
const machines = { amd64: 62, arm64: 183 } as const;

/** A clone without installed packages, with the files that `npm run images:prepare` reads. */
let clone: string;
beforeAll(async () => {
  clone = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-prepared-")));
  for (const path of ["package.json", "package-lock.json", ".npmrc", "infra/images"]) {
    await cp(join(root, path), join(clone, path), { recursive: true });
  }
});
afterAll(() => rm(clone, { recursive: true, force: true }));

const prepare = (...architecture: readonly string[]) =>
  run(process.execPath, ["infra/images/prepare.main.ts", ...architecture], { cwd: clone, timeout: 300_000 });

async function readMachine(path: string): Promise<number> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(20), 0, 20, 0);
  return buffer.readUInt16LE(18);
}

it.each(["arm64", "amd64"] as const)(
  "prepares images for %s on any architecture, one after the other in a clone",
  async (architecture) => {
    expect((await prepare(architecture)).stdout).toContain(`for linux/${architecture} are in`);
    const preparedPath = join(clone, ".gatehouse/images");
    const anvil = join(preparedPath, `devnet/node_modules/@foundry-rs/anvil-linux-${architecture}/bin/anvil`);
    expect(await readMachine(anvil)).toBe(machines[architecture]);
    const script =
      "process.stdout.write(String(require('secp256k1').publicKeyCreate(new Uint8Array(32).fill(1)).length))";
    const services = join(preparedPath, "gatehouse");
    expect((await run(process.execPath, ["--eval", script], { cwd: services })).stdout).toBe("33");
  },
  310_000,
);

it("rejects an unsupported architecture and lists the supported ones", async () => {
  const rejected = prepare("riscv64");
  await expect(rejected).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("expected amd64 or arm64") });
});
