import type { StackConfig } from "../config-schema.ts";
import type { ConfigProblem } from "./config-problem.ts";
import type { DeploymentSecret } from "./deployment-secret.ts";
import { stateDirectory, type Edge, type VolumeSpec } from "./service-spec.ts";
import type { SettingsTree } from "./settings-tree.ts";

/** The PostgreSQL database that replicas share, and where network policies let its clients through to it. */
export type Database = Readonly<{ url: DeploymentSecret; port: number; cidr: string | undefined }>;

/** What a ledger is kept in, as the parts of a specification: a database, or a file on a volume that is kept. */
export type LedgerParts = Readonly<{
  settings: SettingsTree;
  volumes: readonly VolumeSpec[];
  edges: readonly Edge[];
}>;

/** Port of a PostgreSQL URL that names none. */
const postgresPort = 5_432;

/** Puts a service's ledger into the database, or into a file of this name on a volume of its own. */
export function ledgerParts(
  database: Database | undefined,
  { volume, file }: Readonly<{ volume: string; file: string }>,
): LedgerParts {
  if (database !== undefined) {
    const { port, cidr } = database;
    return { settings: { url: database.url }, volumes: [], edges: [{ to: "database", port, cidr }] };
  }
  return {
    settings: { path: `${stateDirectory}/${file}` },
    volumes: [{ name: volume, path: stateDirectory, readOnly: false, keep: true, sizeGibibytes: 5 }],
    edges: [],
  };
}

/** The database of a stack, where it has one. */
export function databaseOf(
  { databaseUrl, databaseCidr }: StackConfig,
  secret: (text: string) => DeploymentSecret,
): Database | undefined {
  if (databaseUrl === undefined) return undefined;
  const { port } = new URL(databaseUrl);
  return { url: secret(databaseUrl), port: port === "" ? postgresPort : Number(port), cidr: databaseCidr };
}

/** What is wrong with a stack's replicas: several need one database, and Docker runs one container a service. */
export function replicationProblems(config: StackConfig): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const key of ["facilitatorReplicas", "resourceServerReplicas"] as const) {
    const { min, max } = config[key];
    if (max < min) {
      problems.push({ key, message: `found max ${max} below min ${min}. Correct it with \`pulumi config set\`.` });
    }
    if (max === 1) continue;
    if (config.target === "docker") {
      problems.push({
        key,
        message: `found ${max}; on Docker a service is one container. Use target kubernetes, or 1.`,
      });
    } else if (config.databaseUrl === undefined) {
      problems.push({
        key,
        message:
          `found ${max} without databaseUrl; replicas share a PostgreSQL database, one with a ledger of its own would sell a ` +
          "payment a second time. Set `pulumi config set --secret databaseUrl postgresql://user:password@host:5432/database`.",
      });
    }
  }
  if (config.databaseCidr !== undefined && config.databaseUrl === undefined) {
    problems.push({ key: "databaseCidr", message: "found without databaseUrl; set both or remove it." });
  }
  return problems;
}
