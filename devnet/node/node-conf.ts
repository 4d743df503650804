import "#daemon/settings/describe-issue.ts";
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { readRegularBytes, explainUnreadable } from "#daemon/files/regular-file.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { findPathsDirectory } from "#node/layout.ts";
import { parseConfigText } from "#node/conf/config-text.ts";

const portText = z
  .string()
  .regex(/^\d{1,5}$/, "expected a port number from 1 to 65535, as a string")
  .refine((text) => Number(text) >= 1 && Number(text) <= 65_535, "expected a port number from 1 to 65535, as a string");
const path = z.string().min(1, "expected a path");

const schema = z.object({
  chain: z.object({
    monitor_config: z.unknown().optional(),
    secret_config: z.object({ domain_key_path: path, stabilizing_key_path: path }),
    startup_config: z.object({
      init_config: z.object({
        meta_path: path,
        host_ip: z.string().min(1, "expected an IP address"),
        http_port: portText,
        rpc_port: portText,
        tcp_port: portText,
        ws_port: portText,
      }),
    }),
  }),
  storage: z.object({
    mygrid_conf: z.looseObject({}),
    mygrid_env: z.object({ storage_data_path: path }),
  }),
});

const limitBytes = 16_777_216;

export type NodeConf = Readonly<{
  httpPort: number;
  webSocketPort: number;
  metaDirectory: string;
  dataDirectory: string;
  /** `chain.monitor_config`, unparsed: whether it fits the version is decided later, without an error. */
  monitorConfig: unknown;
}>;

/**
 * Reads `node.conf`: JSON with comments. Resolves relative paths against the node family's base directory. Ignores unknown keys.
 *
 * @throws {StartupError} when the file can't be read, is not JSON, lacks a setting, or refers to a missing key file or to files of another
 * workspace.
 */
export function readNodeConf(file: string): NodeConf {
  const parsed = schema.safeParse(readValue(file));
  if (!parsed.success) {
    throw new StartupError(
      parsed.error.issues.map((issue) => `${file}: ${issue.path.join(".") || "(root)"}: ${issue.message}`),
    );
  }
  const { chain, storage } = parsed.data;
  const directory = findPathsDirectory(file);
  const at = (relative: string) => resolve(directory, relative);
  const init = chain.startup_config.init_config;
  const own = findWorkspaceOf(resolve(file));
  const dataDirectory = at(storage.mygrid_env.storage_data_path);
  const formatMove = (from: string, to: string) => `run sed -i 's#"${from}/#"${to}/#' ${file}`;
  for (const value of [dataDirectory, init.meta_path, ...Object.values(chain.secret_config)]) {
    const other = findWorkspaceOf(at(value));
    if (own === undefined || other === undefined || realpathSync(own) === realpathSync(other)) continue;
    throw new StartupError(
      `${file}: ${at(value)} belongs to another devnet workspace, of which this one is a copy; ${formatMove(other, own)}`,
    );
  }
  for (const [key, value] of Object.entries(chain.secret_config)) {
    const keyPath = at(value);
    if (existsSync(keyPath)) continue;
    const isMoved = own !== undefined && existsSync(join(own, "keys", basename(keyPath)));
    const remedy = isMoved
      ? `if this workspace was moved, ${formatMove(dirname(dirname(keyPath)), own)}`
      : "correct the path.";
    throw new StartupError(`${file}: chain.secret_config.${key}: ${keyPath} does not exist; ${remedy}`);
  }
  return {
    httpPort: Number(init.http_port),
    webSocketPort: Number(init.ws_port),
    metaDirectory: at(init.meta_path),
    dataDirectory,
    monitorConfig: chain.monitor_config,
  };
}

/** Finds the devnet workspace that contains a path, by its parameters file. */
function findWorkspaceOf(inside: string): string | undefined {
  const parent = dirname(inside);
  if (existsSync(join(parent, "devnet.json"))) return parent;
  return parent === inside ? undefined : findWorkspaceOf(parent);
}

function readValue(file: string): unknown {
  const read = readText(file);
  if (read.ok) return read.parsed.value;
  const { line, column, words } = read.problem;
  throw new StartupError(`${file}: line ${line}, column ${column}: ${words}; expected JSON5.`);
}

function readText(file: string): Exclude<ReturnType<typeof parseConfigText>, Error> {
  try {
    const read = parseConfigText(readRegularBytes(file, limitBytes));
    if (!(read instanceof Error)) return read;
    throw read;
  } catch (cause) {
    throw new StartupError(`${file}: can't be read (${explainUnreadable(cause)}); expected a readable node.conf.`);
  }
}
