import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OtherConstants } from "../../support/other-constants.ts";

/** A hot-reloaded file of a service. */
type WatchedFile = Readonly<{ write: (content: string) => Promise<void> }>;

/** A claim as returned by an API server. */
type ServedClaim = AsyncDisposable &
  Readonly<{
    /** Whether the claim has the max size, `volume.ceilingGibibytes`. */
    setAtCeiling: (isAtCeiling: boolean) => void;
  }>;

const ceilingGibibytes = 600;
const roomyGibibytes = 100;

/**
 * Files that an operator or a cluster gives a sidecar, in a separate directory, and the settings that refer to them.
 * Disposing of it removes them.
 */
export type WatchedFiles = AsyncDisposable &
  Readonly<{
    policy: WatchedFile;
    releases: WatchedFile;
    claim: Pick<ServedClaim, "setAtCeiling">;
    env: Readonly<Record<string, string>>;
    /** The sidecar's values as constants. */
    constants: OtherConstants;
  }>;

/** Writes an empty policy and an empty release list, and serves a claim that has room to grow. */
export async function createWatchedFiles(): Promise<WatchedFiles> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-watched-"));
  const writeWatchedFile = async (name: string, content: string) => {
    const write = (text: string) => writeFile(join(folder, name), text);
    await write(content);
    return { write };
  };
  const policy = await writeWatchedFile("policy.json5", "{}");
  const releases = await writeWatchedFile("releases.json5", "[]");
  await writeWatchedFile("token", "the-token\n");
  await writeWatchedFile("namespace", "chain");
  const { url, claim } = await serveClaim();
  return {
    policy,
    releases,
    claim,
    env: {
      GATEHOUSE_SIDECAR_GATEWAY_POLICY_PATH: join(folder, "policy.json5"),
      GATEHOUSE_SIDECAR_UPGRADE_RELEASES_PATH: join(folder, "releases.json5"),
      GATEHOUSE_SIDECAR_VOLUME_CLAIM: "node-workspace",
      GATEHOUSE_SIDECAR_VOLUME_CEILING_GIBIBYTES: String(ceilingGibibytes),
    },
    constants: {
      "kubernetes.apiUrl": url,
      "kubernetes.serviceAccountDirectory": folder,
      "volume.intervalMs": 1_000,
    },
    [Symbol.asyncDispose]: async () => {
      await claim[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Serves the API of a cluster with one claim; a request to grow is accepted, and never carried out. */
async function serveClaim(): Promise<Readonly<{ url: string; claim: ServedClaim }>> {
  let gibibytes = roomyGibibytes;
  const server = createServer((request, response) => {
    request.resume();
    const storage = `${gibibytes}Gi`;
    response.end(JSON.stringify({ spec: { resources: { requests: { storage } } }, status: { capacity: { storage } } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    claim: {
      setAtCeiling: (isAtCeiling) => void (gibibytes = isAtCeiling ? ceilingGibibytes : roomyGibibytes),
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    },
  };
}
