import { z } from "zod";
import { listServicesWithSettings, listStackServices } from "../stack-services.ts";
import { apiKeyHolder, apiKeyFields } from "#gateway/settings/api-keys.ts";

const limits = z.strictObject({
  cpus: z.number().min(0.05).max(256).describe("Max CPUs"),
  memoryMebibytes: z.int().min(64).max(4_194_304).describe("Max memory, in MiB"),
});

const services = listServicesWithSettings();

/** All services, each of whose limits a stack may set; services that also have settings come first. */
const limited = [...new Set([...services, ...listStackServices()])];

export const serviceKeys = {
  limits: z
    .partialRecord(z.enum(limited), limits)
    .default({})
    .meta({ expected: `{cpus, memoryMebibytes} by service: ${limited.join(", ")}` })
    .describe("CPU and memory limits by service: {facilitator: {cpus: 2, memoryMebibytes: 1024}}"),
  settings: z
    .partialRecord(z.enum(services), z.record(z.string(), z.unknown()))
    .default({})
    .meta({ expected: `settings by service: ${services.join(", ")}` })
    .describe("Settings by service that override the deployment's: {sidecar: {gateway: {…}}}"),
  gatewayApiKeys: z
    .record(apiKeyHolder, z.strictObject(apiKeyFields))
    .default({})
    .meta({ expected: "{sha256, tier} by the name of the key's holder" })
    .describe("API keys for the gateway's private listener by holder, as SHA-256: {ops: {sha256: …, tier: paid}}"),
};
