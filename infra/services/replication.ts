import type { StackConfig } from "../config/config-schema.ts";
import { describeProblem, setKey, setKeyTo, type ConfigProblem } from "../config/config-problem.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import { databaseExample, postgresPort, postgresRole } from "./postgres-spec.ts";
import { stateDirectory, type Edge, type VolumeSpec } from "./service-spec.ts";
import type { SettingsTree } from "./rendered-settings.ts";
import type { StackContext } from "./stack-context.ts";

/** The PostgreSQL database that holds the ledgers, and the connection through which its clients reach it. */
export type Database = Readonly<{ url: DeploymentSecret; edge: Edge }>;

export type LedgerParts = Readonly<{
  settings: SettingsTree;
  volumes: readonly VolumeSpec[];
  edges: readonly Edge[];
}>;

/**
 * Stores a service's ledger in the database, or in a file with this name on the service's own volume. A service with hot restart always has
 * a volume, which holds the last working settings.
 */
export function buildLedgerStorage(
  database: Database | undefined,
  { service, file, isHandedOver }: Readonly<{ service: string; file: string; isHandedOver: boolean }>,
): LedgerParts {
  if (database !== undefined) {
    const state = { name: `${service}-state`, path: stateDirectory, readOnly: false, retain: false, sizeGibibytes: 1 };
    return { settings: { url: database.url }, volumes: isHandedOver ? [state] : [], edges: [database.edge] };
  }
  return {
    settings: { path: `${stateDirectory}/${file}` },
    volumes: [{ name: `${service}-ledger`, path: stateDirectory, readOnly: false, retain: true, sizeGibibytes: 5 }],
    edges: [],
  };
}

/** Returns a stack's database, if any: the one at the configured URL, or the stack's own server, with the stack's password. */
export function findDatabase(
  { databaseUrl, databaseCidr, postgresImage, postgresPassword }: StackConfig,
  { addresses, secret }: Pick<StackContext, "addresses" | "secret">,
): Database | undefined {
  if (databaseUrl !== undefined) {
    const { port } = new URL(databaseUrl);
    const edge = { to: "host", port: port === "" ? postgresPort : Number(port), cidr: databaseCidr } as const;
    return { url: secret(databaseUrl), edge };
  }
  if (postgresImage === undefined || postgresPassword === undefined) return undefined;
  const server = `${addresses.postgres}:${postgresPort}`;
  return {
    url: secret(`postgresql://${postgresRole}:${postgresPassword}@${server}/${postgresRole}`),
    edge: { to: "postgres", port: "sql" },
  };
}

export function findReplicationProblems(config: StackConfig): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const key of ["facilitatorReplicas", "resourceServerReplicas"] as const) {
    const { min, max } = config[key];
    if (max < min) {
      const wrong = `found max ${max} below min ${min}.`;
      problems.push(describeProblem(key, wrong, "Correct it", setKey(), "."));
    }
    if (max > 1 && config.target === "kubernetes" && config.databaseUrl === undefined) {
      const wrong = `found ${max} without databaseUrl; replicas must share a PostgreSQL database, because a replica with its own ledger would accept a payment a second time.`;
      problems.push(describeProblem(key, wrong, setKeyTo("Set ", "databaseUrl", databaseExample), "."));
    }
  }
  if (config.databaseCidr !== undefined && config.databaseUrl === undefined) {
    problems.push({ key: "databaseCidr", message: "found without databaseUrl; set both or remove it." });
  }
  return problems;
}
