import { z } from "zod";
import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import { createLog, type Logger } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { DriverError } from "../upkeep/drivers/driver.ts";
import {
  createKubernetesApi,
  readKubernetesMessage,
  type KubernetesApi,
  type KubernetesResponse,
} from "../upkeep/drivers/kubernetes-api.ts";
import { volumeSnapshotSettings, type VolumeSnapshotSettings } from "./settings.ts";

/** Sources for the settings. With `json`, prints one JSON document, and writes the log to standard error. */
export type VolumeSnapshotOptions = Readonly<{
  env: Environment;
  settingsFile: string | undefined;
  json?: boolean | undefined;
}>;

/** Takes one snapshot of a node's volume. Returns the exit status: 0 on success; 1 if rejected, with the API server's message. */
export async function runVolumeSnapshotCommand(
  sources: VolumeSnapshotOptions,
  { signal, out, error, mask }: Pick<CommandOutput, "out" | "error"> & Readonly<{ signal: AbortSignal; mask: Mask }>,
): Promise<number> {
  try {
    const settings = readSettings(volumeSnapshotSettings, { env: sources.env, file: sources.settingsFile });
    mask.hide(settings);
    const json = sources.json === true;
    const destination = json ? { write: (line: string) => error(line) } : undefined;
    const log = createLog({ service: "volume-snapshot", level: settings.log.level, mask }, destination);
    await using api = createKubernetesApi(settings.kubernetes);
    const taken = await takeSnapshot(settings, { api, log, signal, now: () => new Date() });
    if (json) out(`${JSON.stringify({ result: "taken", claim: settings.claim, ...taken })}\n`);
    return 0;
  } catch (cause) {
    if (cause instanceof DriverError) error(mask.text(`volume-snapshot: ${cause.message}\n`));
    else if (cause instanceof SettingsError) error(`${cause.message}\n`);
    else throw cause;
    return 1;
  }
}

const group = "/apis/snapshot.storage.k8s.io/v1";

const path = "/volumesnapshots";

/** Label on the snapshots that this command took from a claim; other snapshots are never deleted. */
const claimLabel = "gatehouse.io/claim";

const listSchema = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), creationTimestamp: z.string() }) })),
});

export type SnapshotDependencies = Readonly<{ api: KubernetesApi; log: Logger; signal: AbortSignal; now: () => Date }>;

/** Also deletes the oldest snapshots that this command took beyond `keep`. @throws {DriverError} when the API server rejects the request. */
export async function takeSnapshot(
  { claim, className, keep }: Pick<VolumeSnapshotSettings, "claim" | "className" | "keep">,
  { api, log, signal, now }: SnapshotDependencies,
): Promise<Readonly<{ name: string; deleted: readonly string[] }>> {
  const name = `${claim}-${now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, "")
    .toLowerCase()}`;
  const manifest = {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name, labels: { [claimLabel]: claim } },
    spec: {
      source: { persistentVolumeClaimName: claim },
      ...(className === undefined ? {} : { volumeSnapshotClassName: className }),
    },
  };
  const made = await api.request("POST", path, signal, { group, body: manifest });
  // If a job is killed after its request and runs again within the same second, it finds the existing snapshot.
  if (made.status !== 201 && made.status !== 409)
    throw createRejection(`can't take a snapshot of ${claim}`, made, "create");
  log.info({ event: "snapshot-taken", name }, `took the snapshot ${name} of ${claim}`);
  const query = `?labelSelector=${encodeURIComponent(`${claimLabel}=${claim}`)}`;
  const listResponse = await api.request("GET", `${path}${query}`, signal, { group });
  const parsed = listSchema.safeParse(listResponse.body);
  if (listResponse.status !== 200 || !parsed.success)
    throw createRejection("can't list the snapshots", listResponse, "list");
  const deletedSnapshots = listOldest(parsed.data.items, keep);
  for (const old of deletedSnapshots) {
    const gone = await api.request("DELETE", `${path}/${encodeURIComponent(old)}`, signal, { group });
    if (![200, 202, 404].includes(gone.status))
      throw createRejection(`can't delete the snapshot ${old}`, gone, "delete");
    log.info({ event: "snapshot-deleted", name: old }, `deleted the snapshot ${old}; ${keep} are retained`);
  }
  return { name, deleted: deletedSnapshots };
}

type Listed = z.output<typeof listSchema>["items"];

/** Lists the names of all snapshots except the `keep` newest; snapshots from the same second are sorted by name. */
function listOldest(items: Listed, keep: number): readonly string[] {
  const order = ({ metadata }: Listed[number]) => `${metadata.creationTimestamp} ${metadata.name}`;
  const newestFirst = items.toSorted((a, b) => order(b).localeCompare(order(a)));
  return newestFirst.slice(keep).map(({ metadata }) => metadata.name);
}

function createRejection(what: string, response: KubernetesResponse, verb: string): DriverError {
  return new DriverError(
    `${what}: ${readKubernetesMessage(response)}; grant ${verb} on volumesnapshots, and check that the cluster runs the snapshot controller.`,
  );
}
