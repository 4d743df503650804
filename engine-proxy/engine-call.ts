import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";

export type EngineRequest = Readonly<{ method: string; url: string; body: string }>;

/** Request that the proxy sends to the engine; contains only validated parts of the caller's request. */
export type EngineCall = Readonly<{
  kind: "inspect" | "restart" | "exec-create" | "exec-start" | "exec-inspect";
  method: "GET" | "POST";
  path: string;
  body: string | undefined;
}>;

/** Limits on what the proxy forwards: one container, and one program in one of its directories. */
export type EngineRules = Readonly<{
  container: string;
  nodeCli: string;
  binDirectory: string;
  configArgument: string;
  stopTimeoutMaxSeconds: number;
  /** Returns whether this proxy created the exec with that id. */
  isKnownExec: (id: string) => boolean;
}>;

/** The call that a request maps to, or why it is rejected. */
export type EngineDecision = Readonly<{ call: EngineCall }> | Readonly<{ rejected: string }>;

const version = /^\/v1\.\d{1,3}(?=\/)/;
const execId = /^\/exec\/([0-9a-f]{12,64})\/(start|json)$/;

const execBody = z.strictObject({
  Cmd: z.array(z.string().max(4_096)).min(2).max(6),
  WorkingDir: z.string().max(4_096).optional(),
  AttachStdin: z.literal(false).optional(),
  AttachStdout: z.boolean().optional(),
  AttachStderr: z.boolean().optional(),
  Tty: z.literal(false).optional(),
  Privileged: z.literal(false).optional(),
});

const startBody = z.strictObject({ Detach: z.literal(false).optional(), Tty: z.literal(false).optional() });

/**
 * Decides whether a request may reach the engine. Three requests may: inspect the one container, restart it, and run the node's
 * command-line tool in it with one of the specification's command lines ("Node command line"). The proxy, not the caller, sets program,
 * directory and configuration file: otherwise a caller with write access to one of the node's volumes could choose a program there.
 * Everything else is rejected, and the engine only gets requests built from validated values.
 */
export function decideEngineCall(request: EngineRequest, rules: EngineRules): EngineDecision {
  if (!request.url.startsWith("/") || request.url.length > 1_024)
    return { rejected: "the path isn't part of the Engine API" };
  const [path = "", query = "", ...rest] = request.url.split("?");
  if (rest.length > 0) return { rejected: "the query has a second question mark" };
  const prefix = version.exec(path)?.[0] ?? "";
  const bare = path.slice(prefix.length);
  const container = `/containers/${rules.container}`;
  const exec = execId.exec(bare);
  if (request.method === "GET" && bare === `${container}/json` && query === "") {
    return admitCall("inspect", "GET", `${prefix}${bare}`);
  }
  if (request.method === "POST" && bare === `${container}/restart`) return restart(`${prefix}${bare}`, query, rules);
  if (request.method === "POST" && bare === `${container}/exec` && query === "") {
    return createExec(`${prefix}${bare}`, request.body, rules);
  }
  if (exec !== null && query === "") return followExec(request, `${prefix}${bare}`, exec, rules);
  return {
    rejected: `only inspect, restart and exec of ${rules.nodeCli} in the container ${rules.container} are allowed by this proxy`,
  };
}

function admitCall(
  kind: EngineCall["kind"],
  method: EngineCall["method"],
  path: string,
  body?: Readonly<Record<string, unknown>>,
): EngineDecision {
  return { call: { kind, method, path, body: body === undefined ? undefined : JSON.stringify(body) } };
}

function restart(path: string, query: string, rules: EngineRules): EngineDecision {
  if (query === "") return admitCall("restart", "POST", path);
  const seconds = /^t=(\d{1,4})$/.exec(query)?.[1];
  if (seconds === undefined) return { rejected: "a restart takes t=<seconds> and nothing else" };
  if (Number(seconds) > rules.stopTimeoutMaxSeconds) {
    return { rejected: `a restart's stop timeout is at most ${rules.stopTimeoutMaxSeconds} seconds` };
  }
  return admitCall("restart", "POST", `${path}?t=${Number(seconds)}`);
}

function createExec(path: string, text: string, rules: EngineRules): EngineDecision {
  // No schema here accepts undefined, which represents text that is not JSON.
  const parsed = execBody.safeParse(parseJson(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return {
      rejected: `the exec does not run ${rules.nodeCli}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim(),
    };
  }
  const { Cmd, WorkingDir = rules.binDirectory, AttachStdout = true, AttachStderr = true } = parsed.data;
  if (WorkingDir !== rules.binDirectory) {
    return { rejected: `${rules.nodeCli} is only run in ${rules.binDirectory} (binDirectory)` };
  }
  if (!isNodeCommand(Cmd, rules)) {
    const program = `./${rules.nodeCli}`;
    return {
      rejected: `only "${program} --version" and "${program} prune", with or without "--c ${rules.configArgument}" (configArgument), then "--get" or "--enable_auto_prune", are run`,
    };
  }
  return admitCall("exec-create", "POST", path, {
    Cmd,
    WorkingDir,
    AttachStdin: false,
    AttachStdout,
    AttachStderr,
    Tty: false,
    Privileged: false,
  });
}

/** Returns whether this is one of the specification's command lines, with `--c` (v0.11 and later) or without (before). */
function isNodeCommand(
  [program, ...args]: readonly string[],
  { nodeCli, configArgument }: Pick<EngineRules, "nodeCli" | "configArgument">,
): boolean {
  if (program !== `./${nodeCli}`) return false;
  if (args.length === 1) return args[0] === "--version";
  const [command, ...options] = args;
  const last = options.at(-1);
  if (command !== "prune" || (last !== "--get" && last !== "--enable_auto_prune")) return false;
  if (options.length === 1) return true;
  return options.length === 3 && options[0] === "--c" && options[1] === configArgument;
}

function followExec(
  request: EngineRequest,
  path: string,
  [, id = "", action]: RegExpExecArray,
  rules: EngineRules,
): EngineDecision {
  if (!rules.isKnownExec(id)) return { rejected: "this exec was not created through this proxy" };
  if (action === "json" && request.method === "GET") return admitCall("exec-inspect", "GET", path);
  if (action !== "start" || request.method !== "POST")
    return { rejected: "an exec is started by POST and inspected by GET" };
  if (!startBody.safeParse(parseJson(request.body === "" ? "{}" : request.body)).success) {
    return { rejected: "an exec must start attached and without a terminal" };
  }
  return admitCall("exec-start", "POST", path, { Detach: false, Tty: false });
}

export type DisplayedResponse = Readonly<Record<string, unknown>>;

/** Max characters of the engine's error text sent to a caller. */
const messageMax = 500;

const failure = z.object({ message: z.string().transform((text) => text.slice(0, messageMax)) });

/** Fields of each JSON response that callers get: those that the sidecar needs, never the container's environment, mounts or labels. */
const shown: Readonly<Partial<Record<EngineCall["kind"], z.ZodType<DisplayedResponse>>>> = {
  inspect: z.object({ State: z.object({ Status: z.string(), Running: z.boolean(), StartedAt: z.string() }) }),
  "exec-create": z.object({ Id: z.string().regex(/^[0-9a-f]{12,64}$/) }),
  "exec-inspect": z.object({ Running: z.boolean(), ExitCode: z.number().nullable(), Pid: z.number().optional() }),
};

/** Returns what a caller may see of a response (Engine API); undefined for one of any other shape, which is never sent to a caller. */
export function showResponse(kind: EngineCall["kind"], status: number, text: string): DisplayedResponse | undefined {
  const schema = status < 400 ? shown[kind] : failure;
  return schema?.safeParse(parseJson(text)).data;
}
