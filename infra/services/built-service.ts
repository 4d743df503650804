import { hash } from "node:crypto";
import { output, type Output } from "@pulumi/pulumi";
import { type SettingsDefinition, digestSettings } from "#daemon/settings/settings.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import {
  renderSettings,
  type HotRestartSettings,
  type LiveSettings,
  mergeTrees,
  type SettingsTree,
} from "./rendered-settings.ts";
import { listEdgesOfSettings } from "./upstream-edges.ts";
import {
  stateDirectory,
  oneReplica,
  serviceUser,
  type FileSpec,
  type ResourceLimits,
  type ServiceSpec,
} from "./service-spec.ts";

export type BuiltService = Readonly<{
  spec: ServiceSpec;
  problems: readonly ConfigProblem[];
  /** Definition of the service's settings, if it is one of Gatehouse's services. */
  definition?: SettingsDefinition;
}>;

export function readCommonArgs(
  { limits, settings }: StackConfig,
  service: keyof StackConfig["limits"] & keyof StackConfig["settings"],
): CommonArgs {
  return { limits: limits[service], settings: settings[service] };
}

export type CommonArgs = Readonly<{
  /** Settings that override the deployment's, with the keys of the service's settings file. */
  settings?: SettingsTree | undefined;
  limits?: ResourceLimits | undefined;
}>;

/** Parts of a specification that a builder chooses; the rest is derived from the service's settings. */
type Outline = Omit<
  ServiceSpec,
  "environment" | "files" | "liveSecrets" | "arguments" | "user" | "limits" | "replicas" | "edges"
> &
  Readonly<{
    definition: SettingsDefinition;
    tree: SettingsTree;
    files?: readonly FileSpec[];
    live?: LiveSettings | undefined;
    hotRestart?: HotRestartSettings | undefined;
    edges?: ServiceSpec["edges"];
    limits: ResourceLimits;
    replicas?: ServiceSpec["replicas"] | undefined;
    user?: ServiceSpec["user"];
  }>;

/** Builds the specification of a Gatehouse service: the subcommand of the image that is named after the service, with rendered settings. */
export function buildService(outline: Outline, common: CommonArgs): BuiltService {
  const {
    definition,
    tree,
    files = [],
    live,
    hotRestart,
    liveFiles = [],
    edges = [],
    limits,
    replicas = oneReplica,
    user = serviceUser,
    ...rest
  } = outline;
  const rendered = renderSettings(definition, mergeTrees(tree, common.settings ?? {}), { live, hotRestart });
  return {
    spec: {
      ...rest,
      arguments: [definition.service, ...(hotRestart === undefined ? [] : ["--hot-restart"])],
      // The last working settings must outlive the container: a new one may find an unusable file.
      environment: { ...rendered.environment, ...(hotRestart === undefined ? {} : { XDG_STATE_HOME: stateDirectory }) },
      files: [...files, ...rendered.files],
      liveFiles: [...liveFiles, ...rendered.liveFiles],
      liveSecrets: rendered.liveSecrets,
      edges: [...edges, ...listEdgesOfSettings(common.settings ?? {})],
      limits: common.limits ?? limits,
      replicas,
      user,
    },
    problems: rendered.problems,
    definition,
  };
}

/** Digests of a service's configuration, as the service reports them: of the settings in its environment, and of its hot-reloaded files by name. */
export type GivenConfiguration = Readonly<{
  settingsSha256: string;
  files: Readonly<Record<string, Output<string>>>;
}>;

export function describeGivenConfiguration(definition: SettingsDefinition, spec: ServiceSpec): GivenConfiguration {
  const files = (spec.liveFiles ?? []).map(({ name, content }) => {
    const digest = output(content).apply((text) => hash("sha256", text));
    return [name, digest] as const;
  });
  return { settingsSha256: digestSettings(definition, spec.environment), files: Object.fromEntries(files) };
}
