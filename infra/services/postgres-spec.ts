import { stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { describeMissing, describeProblem, removeKey, type ConfigProblem } from "../config/config-problem.ts";
import type { BuiltService } from "./built-service.ts";
import { filesDirectory, oneReplica, serviceUser, type ServiceSpec } from "./service-spec.ts";
import type { StackContext } from "./stack-context.ts";

/** Port of the server, and the default port in a PostgreSQL URL. */
export const postgresPort = stackServices.postgres.ports.sql;

/** The role that owns the ledgers; also the name of its database. */
export const postgresRole = "gatehouse";

/**
 * A directory that the images' user can write to. Versions up to 17 store the database one directory deeper, later versions in a directory
 * named after the version. Our own subdirectory lets one volume work for all versions.
 */
const homeDirectory = "/var/lib/postgresql";

const passwordFile = "postgres-password";

/**
 * Builds a PostgreSQL server from an image that is compatible with the official one (docker-library/postgres: variables, entry point,
 * STOPSIGNAL). Only the facilitator and the resource server can reach it; its data is on a retained volume. SIGINT triggers its fast
 * shutdown: it ends sessions, and committed data is on disk (PostgreSQL manual, "Shutting Down the Server"). Returns `undefined` without a
 * password, which the configuration check rejects; the image reads it only when it first starts.
 */
export function buildPostgresSpec(
  { postgresPassword, postgresUser, limits }: StackConfig,
  { secret }: StackContext,
): BuiltService | undefined {
  if (postgresPassword === undefined) return undefined;
  const spec: ServiceSpec = {
    name: "postgres",
    image: "postgres",
    arguments: undefined,
    environment: {
      PGDATA: `${homeDirectory}/${postgresRole}`,
      POSTGRES_USER: postgresRole,
      POSTGRES_DB: postgresRole,
      POSTGRES_PASSWORD_FILE: `${filesDirectory}/${passwordFile}`,
      POSTGRES_INITDB_ARGS: "--data-checksums",
    },
    files: [{ name: passwordFile, content: secret(postgresPassword).value, secret: true }],
    ports: [{ name: "sql", number: postgresPort, audience: "system" }],
    volumes: [{ name: "postgres-data", path: homeDirectory, readOnly: false, retain: true, sizeGibibytes: 5 }],
    scratchDirectories: ["/var/run/postgresql"],
    edges: [],
    health: { kind: "command", command: readinessCommand, startWithinSeconds: 120 },
    limits: limits.postgres ?? { cpus: 1, memoryMebibytes: 512 },
    user: { uid: postgresUser, gid: serviceUser.gid },
    stopSignal: "SIGINT",
    stopGraceSeconds: 60,
    replicas: oneReplica,
  };
  return { spec, problems: [] };
}

/** Checks over TCP: while it initializes the database, the server listens only on its socket. */
const readinessCommand = ["pg_isready", "--quiet", "--host=127.0.0.1", `--port=${postgresPort}`];

export const databaseExample = {
  secret: true,
  value: "postgresql://<user>:<password>@<host>:5432/<database>",
} as const;

export function findOwnDatabaseProblems(config: StackConfig): readonly ConfigProblem[] {
  const { postgresImage, postgresPassword, databaseUrl } = config;
  if (postgresImage === undefined) {
    if (postgresPassword === undefined) return [];
    return [{ key: "postgresPassword", message: "found without postgresImage; set both or remove it." }];
  }
  if (config.target !== "docker") return [];
  const problems: ConfigProblem[] = [];
  if (databaseUrl !== undefined) {
    const wrong = "found together with databaseUrl; the ledgers use only one database.";
    problems.push(describeProblem("postgresImage", wrong, "Remove one of the two", removeKey(), "."));
  }
  if (postgresPassword === undefined) {
    const wrong = "missing; expected the password for the PostgreSQL server that runs postgresImage.";
    problems.push(describeMissing("postgresPassword", wrong, { secret: true, value: '"$(openssl rand -hex 32)"' }));
  }
  return problems;
}
