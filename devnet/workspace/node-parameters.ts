import "#daemon/settings/describe-issue.ts";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Address } from "viem";
import { z } from "zod";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { nodeVersion } from "#node/version-setting.ts";
import { nodeProfile } from "../node-profile.ts";

const schema = z.strictObject({
  version: nodeVersion,
  profile: nodeProfile.default("standard"),
  /** Seconds from the start until the ports open. */
  opensAfterSeconds: z.number().min(0).default(0),
  nodeDirectory: z.string().min(1),
  listenHost: z.string().min(1),
  chainId: z.int().min(1),
  blockTimeSeconds: z.number().positive(),
  mnemonic: z.string().optional(),
  accounts: z.int().min(0).max(100),
  fund: z.array(z.custom<Address>((value) => /^0x[0-9a-fA-F]{40}$/.test(String(value)))).max(100),
  /** The process that owns the node. If this process is running when the node starts, the node exits when this process does. */
  owner: z.strictObject({ pid: z.int().min(1), startTicks: z.int().min(0) }).optional(),
});

/**
 * Parameters that a real node has compiled in or gets from its network, so `node.conf` lacks them. Stored in the workspace's `devnet.json`,
 * readable by the owner only because of the mnemonic.
 */
export type NodeParameters = Readonly<z.output<typeof schema>>;

/**
 * Reads a workspace's parameters.
 *
 * @throws {StartupError} when the file is missing or invalid.
 */
export function readParameters(path: string): NodeParameters {
  try {
    const parameters = schema.parse(JSON.parse(readFileSync(path, "utf8")));
    return Object.freeze({ ...parameters, ...readRelease(join(dirname(path), "bin", releaseFile)) });
  } catch (cause) {
    const reason =
      cause instanceof z.ZodError
        ? cause.issues.map(({ path: key, message }) => [...key, message].join(": ")).join("; ")
        : (cause as Error).message;
    throw new StartupError(`${path} can't be used: ${reason}. Recreate the workspace with "gatehouse devnet".`, {
      cause,
    });
  }
}

/** Parameters of a release in the bin directory; they override the workspace's. */
const release = z.strictObject({
  version: nodeVersion,
  opensAfterSeconds: z.exactOptional(z.number().min(0)),
  blockTimeSeconds: z.exactOptional(z.number().positive()),
});

export const releaseFile = "release.json";

function readRelease(path: string): Readonly<Partial<z.output<typeof release>>> {
  return existsSync(path) ? release.parse(JSON.parse(readFileSync(path, "utf8"))) : {};
}

export async function writeParameters(path: string, parameters: NodeParameters): Promise<void> {
  await replaceFile(path, `${JSON.stringify(parameters, null, 2)}\n`, { mode: 0o600 });
}
