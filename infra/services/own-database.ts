import type { StackConfig } from "../config/config-schema.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { PostgresArgs } from "./postgres-spec.ts";

/** The PostgreSQL server of a stack's own, where it has one. */
export function ownDatabaseOf(
  { postgresImage, postgresPassword, postgresUser, limits }: StackConfig,
  secret: (text: string) => DeploymentSecret,
): PostgresArgs | undefined {
  if (postgresImage === undefined || postgresPassword === undefined) return undefined;
  return { password: secret(postgresPassword), imageUser: postgresUser, limits: limits.postgres };
}

/** What is wrong with the server of a stack's own: it is one container of a Docker host, with a password, beside no other database. */
export function ownDatabaseProblems(config: StackConfig): readonly ConfigProblem[] {
  const { postgresImage, postgresPassword, databaseUrl, target } = config;
  if (postgresImage === undefined) {
    if (postgresPassword === undefined) return [];
    return [{ key: "postgresPassword", message: "found without postgresImage; set both or remove it." }];
  }
  if (target !== "docker") {
    const message =
      `found beside target ${target}, where the database is one that runs already. Remove it, and set ` +
      "`pulumi config set --secret databaseUrl postgresql://user:password@host:5432/database`.";
    return [{ key: "postgresImage", message }];
  }
  const problems: ConfigProblem[] = [];
  if (databaseUrl !== undefined) {
    problems.push({
      key: "postgresImage",
      message:
        "found beside databaseUrl; the ledgers stand in one database. Remove one of the two with `pulumi config rm`.",
    });
  }
  if (postgresPassword === undefined) {
    problems.push({
      key: "postgresPassword",
      message:
        "missing; expected the password that the server of postgresImage is made with. Set it with " +
        '`pulumi config set --secret postgresPassword "$(openssl rand -hex 32)"`.',
    });
  }
  return problems;
}
