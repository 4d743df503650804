import { z } from "zod";
import { privateKey } from "#daemon/settings/types.ts";
import { dockerKeys } from "./docker-keys.ts";
import { kubernetesKeys } from "./kubernetes-keys.ts";
import { nodeKeys, nodeSecrets } from "./node-keys.ts";
import { observabilityKeys } from "./observability-keys.ts";
import { paymentKeys } from "./payment-keys.ts";
import { serviceKeys } from "./service-keys.ts";
import { volumeKeys } from "./volume-keys.ts";

const nodeKey = z.string().min(1).max(65_536).meta({ expected: "the contents of the key file" });

/** Secret keys. Pulumi stores them encrypted, and programs never print them; `Pulumi.yaml` can't declare them. */
const secrets = {
  signerPrivateKey: privateKey
    .optional()
    .describe(
      "Private key of the account that submits settlements and pays their gas; required unless devAccounts is true or settings.facilitator.signer has remote keys",
    ),
  stackSecret: z
    .string()
    .min(32)
    .max(200)
    .optional()
    .meta({ expected: "32 to 200 characters" })
    .describe(
      "Random text from which the stack derives its access-token key and Grafana's password; independent of the signer. Default: signerPrivateKey; required without it",
    ),
  formerStackSecret: z
    .string()
    .min(32)
    .max(200)
    .optional()
    .meta({ expected: "32 to 200 characters" })
    .describe(
      "Previous stackSecret (or signerPrivateKey, if used as its default); access tokens sold with it remain valid. Remove it if it leaked",
    ),
  databaseUrl: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .meta({ expected: "a URL like postgresql://<user>:<password>@<host>:5432/<database>" })
    .describe("PostgreSQL database for the ledgers; required for replicas. Default: one SQLite file per service"),
  postgresPassword: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{16,64}$/)
    .optional()
    .meta({ expected: "16 to 64 letters, digits and . _ ~ -" })
    .describe("Password for the stack's own PostgreSQL server; required with postgresImage"),
  alertmanagerConfig: z
    .string()
    .min(1)
    .max(262_144)
    .optional()
    .meta({ expected: "the text of an alertmanager.yml" })
    .describe("Contents of alertmanager.yml for the stack's own Alertmanager"),
  grafanaPassword: z
    .string()
    .min(12)
    .max(200)
    .optional()
    .meta({ expected: "12 to 200 characters" })
    .describe("Password of Grafana's admin user; default: derived from stackSecret"),
  domainKey: nodeKey.optional().describe("Contents of a real node's domain.key; required with nodeImage"),
  stabilizingKey: nodeKey.optional().describe("Contents of a real node's stabilizing.key; required with nodeImage"),
  ...nodeSecrets,
};

/** The keys that `Pulumi.yaml` declares, in the same order, each with its default and purpose. */
export const declaredKeys = {
  ...dockerKeys,
  ...nodeKeys,
  ...paymentKeys,
  ...volumeKeys,
  ...serviceKeys,
  ...kubernetesKeys,
  ...observabilityKeys,
};

export const secretKeys: readonly (keyof typeof secrets)[] = z.strictObject(secrets).keyof().options;

/** Schema for a stack's configuration, with the keys of `Pulumi.<stack>.yaml` and with the ranges and choices that `Pulumi.yaml` can't express. */
export const configSchema = z.strictObject({ ...declaredKeys, ...secrets });

export type StackConfig = Readonly<z.output<typeof configSchema>>;
