import { z } from "zod";
import { hasRoomFor } from "#daemon/files/copy-room.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, isRefusing, listNewFindings } from "#node/lint/new-findings.ts";
import { parseNodeVersion, releaseOfText } from "#node/versions.ts";
import { EngineError, type Engine, type EngineContainer } from "./engine.ts";
import { hasCondition, readReportedVersion, type SidecarLook, type StackQuestions } from "./node-status.ts";
import { lookAtNode, type LookAtNodeDependencies } from "./look-at-node.ts";
import { findStrangeChanges, isNodeReplaced } from "./pulumi/previewed-changes.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { NodeBefore, UpgradeSide } from "./stack-record.ts";
import { formatDockerCommand } from "./stack-commands.ts";
import { buildConfigChange, namesOf, type StackPlace } from "./stack-place.ts";
import { formatDiscardCommand, lookAtVolume } from "./workspace-job.ts";

export type CheckStackDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "preview">;
  engine: Engine;
  questions: StackQuestions;
}> &
  Pick<LookAtNodeDependencies, "pause" | "signal">;

/** What was found of a stack before anything is done to it. */
export type StackCheck = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  before: NodeBefore | undefined;
  toolImage: string | undefined;
  copyWords: string;
  /** Whether the copy is made of clones. */
  clones: boolean;
}>;

/** A block this far below the head is taken to be the same for good; the specification's chain is final sooner. */
const settledBlocks = 64;

const workspaceLook = z.object({
  bytes: z.number(),
  freeBytes: z.number(),
  clones: z.boolean(),
  leftovers: z.array(z.string()),
  copies: z.array(z.string()),
  conf: z.string().optional(),
});

/** Looks at everything that could keep an upgrade from being proved or rolled back; changes nothing that stays. */
export async function checkStack(
  place: StackPlace,
  to: UpgradeSide,
  dependencies: CheckStackDependencies,
): Promise<StackCheck> {
  const { engine, questions } = dependencies;
  const problems = [...versionProblems(place.from, to)];
  const { said, problems: ofNode } = await lookAtNode(place, dependencies);
  problems.push(...ofNode);
  const containers = await findContainers(place, engine);
  problems.push(...containers.problems);
  const { toolImage } = containers;
  const data = toolImage === undefined ? undefined : await checkData(place, to, { engine, toolImage });
  problems.push(...(data?.problems ?? []), ...(await previewProblems(place, to, dependencies)));
  const before = said === undefined ? undefined : await readBefore(said, questions);
  const warnings = [
    ...(data?.warnings ?? []),
    ...(before !== undefined && before.block === undefined ? [noBlock] : []),
    ...(said?.node.answers === true && before?.tellsVersion === false ? [noVersion] : []),
    ...((await questions.peers()) === 0
      ? ["the node has no peer: whether the new version finds any is not known"]
      : []),
    ...((await engine.findImage(to.image)) !== undefined
      ? []
      : [
          `the engine does not have ${to.image} yet: pull it first (${formatDockerCommand(place.engine, "pull", to.image)}), or the node stands still while pulumi up does`,
        ]),
  ];
  return { problems, warnings, before, toolImage, copyWords: data?.copyWords ?? "", clones: data?.clones ?? false };
}

const noBlock =
  "the node returns no block by its number (eth_getBlockByNumber): that the new version has the old data can't be proved";

const noVersion =
  "the node does not report its version: that the new one runs is known by the id of its container's image alone";

function* versionProblems(from: UpgradeSide, to: UpgradeSide): Generator<string> {
  if (from.image === to.image && from.version === to.version) yield "the stack has this image and version already";
  if (releaseOfText(from.version).layout !== releaseOfText(to.version).layout) {
    yield `${to.version} has another layout of the workspace than ${from.version}: start over with it`;
  }
}

async function findContainers(place: StackPlace, engine: Engine) {
  const names = namesOf(place);
  const [node, sidecar] = [await engine.inspect(names.node), await engine.inspect(names.sidecar)];
  const problems = [
    ...containerProblems(names.node, node, place),
    ...containerProblems(names.sidecar, sidecar, place),
    ...(node?.Mounts.some(({ Name }) => Name === names.volume) === true
      ? [
          `${names.node} sees the whole of its volume, as an earlier release deployed it; run pulumi up with this release first`,
        ]
      : []),
  ];
  return { problems, toolImage: sidecar?.Image };
}

function* containerProblems(
  name: string,
  container: EngineContainer | undefined,
  { prefix }: StackPlace,
): Generator<string> {
  if (container === undefined) yield `the engine has no container ${name}`;
  else if (container.Config.Labels?.["io.gatehouse.stack"] !== prefix) yield `${name} belongs to no stack ${prefix}`;
  else if (!container.State.Running) yield `${name} does not run`;
}

async function checkData(
  place: StackPlace,
  to: UpgradeSide,
  { engine, toolImage }: Readonly<{ engine: Engine; toolImage: string }>,
) {
  const printed = await lookAtVolume({ ...place, toolImage }, { engine });
  const { volume } = namesOf(place);
  const { data: found } = workspaceLook.safeParse(parseJson(printed));
  if (found === undefined) throw new EngineError(`the look at ${volume} printed something else than expected`, false);
  const { bytes, freeBytes, clones, leftovers, copies, conf } = found;
  const size = `${(bytes / 2 ** 30).toFixed(2)} GiB`;
  const lint =
    conf === undefined ? { problems: [`there is no node.conf in ${volume}`], warnings: [] } : lintFor(conf, place, to);
  return {
    clones,
    copyWords: clones ? `${size} are cloned, which takes seconds and no room at first` : `${size} are copied in full`,
    problems: [
      ...lint.problems,
      ...(!clones && !hasRoomFor(found)
        ? [`a copy of the node's data takes ${bytes} bytes, and ${freeBytes} are free in ${volume}`]
        : []),
      ...copies.map((id) => explainCopy(volume, formatDiscardCommand({ ...place, toolImage, id }))),
    ],
    warnings: [
      ...lint.warnings,
      ...leftovers
        .filter((id) => !copies.includes(id))
        .map((id) => `${volume} still holds .gatehouse-upgrade/${id} of an earlier upgrade`),
    ],
  };
}

function explainCopy(volume: string, command: string): string {
  return `${volume} holds the copy of an upgrade that is not over: go on with it where it was begun (--continue); or, if it is of no use any more, remove it: ${command}`;
}

function lintFor(conf: string, { from }: StackPlace, to: UpgradeSide) {
  const bytes = Buffer.from(conf, "base64");
  const lint = ({ version }: UpgradeSide) => lintConfig(bytes, parseNodeVersion(version));
  // The sidecar gives node.conf the keys of the version that runs.
  const found = listNewFindings(lint(to), lint(from)).filter(({ rule }) => rule !== "other-version");
  const words = (speaksAgainst: boolean) =>
    found.filter((finding) => isRefusing(finding) === speaksAgainst).map(formatFinding);
  return { problems: words(true), warnings: words(false) };
}

async function previewProblems(
  { project, prefix, from }: StackPlace,
  to: UpgradeSide,
  { pulumi }: Pick<CheckStackDependencies, "pulumi">,
): Promise<readonly string[]> {
  try {
    const steps = await pulumi.preview(buildConfigChange(project, to, from));
    const strange = findStrangeChanges(steps, prefix);
    if (strange !== undefined) return [strange];
    return isNodeReplaced(steps, prefix) ? [] : ["pulumi up would not change the node"];
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    return [error.message];
  }
}

/** What is known of the running node, to prove either version by. */
async function readBefore(said: SidecarLook, { blockHash }: StackQuestions): Promise<NodeBefore | undefined> {
  const { height } = said.node;
  if (height === undefined) return undefined;
  const number = Math.max(0, height - settledBlocks);
  const hash = await blockHash(number);
  return {
    height,
    ...(hash === undefined ? {} : { block: { number, hash } }),
    tellsVersion: readReportedVersion(said) !== undefined,
    autoPrune: hasCondition(said, "AutoPruneOn"),
    metrics: hasCondition(said, "MetricsArriving"),
  };
}
