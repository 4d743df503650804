import { z } from "zod";
import { filePath } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";

const command = (example: string) =>
  z
    .array(z.string().min(1))
    .min(1)
    .max(32)
    .meta({ expected: `a command and its arguments as a list, e.g. ${example}` });

const stopTimeoutSeconds = (seconds: number) =>
  z.int().min(0).max(3_600).default(seconds).meta({ expected: "seconds, a whole number from 0 to 3600" });

const name = z.string().min(1).meta({ expected: "a name" });

/** The `ops` driver, for a binary deployment (specification, "Node command line"). */
export const opsSection = section({
  directory: filePath
    .optional()
    .describe("Working directory for ops; default: by node family, the bin directory or the workspace"),
  stop: command('["./ops","stop","--force"]')
    .default(["./ops", "stop", "--force"])
    .describe("Command to stop the node, run in ops.directory"),
  start: command('["./ops","start","--config","./node.conf"]')
    .optional()
    .describe(
      "Command to start the node, run in ops.directory; default: ./ops start --config and the path of the node's configuration file, e.g. ./node.conf",
    ),
  stopTimeoutSeconds: stopTimeoutSeconds(60).describe(
    "Seconds that the node has to exit after SIGTERM before ops.stop is run; capped at restart.timeoutMs. 0: no SIGTERM",
  ),
});

export const composeSection = section({
  command: command('["docker","compose","restart"]')
    .default(["docker", "compose", "restart"])
    .describe(
      "Command to restart the node's container; --timeout 300 and compose.service (if set) are appended to the default. The words before `restart` are also used to run `exec` and `ps`, e.g. docker compose --file node.yaml",
    ),
  service: name
    .optional()
    .describe(
      "The node's service in the compose file; if set, only it is restarted; required to run node_cli in its container",
    ),
  directory: filePath.optional().describe("Directory of the compose file; default: node.workspace"),
});

export const dockerSection = section({
  engine: z
    .string()
    .regex(/^(unix:\/\/\/.+|https?:\/\/.+)$/)
    .default("unix:///var/run/docker.sock")
    .describe("Docker Engine API")
    .meta({ expected: "unix:///path/of/the/socket or an http:// URL" }),
  container: name.optional().describe("Name or ID of the node's container; required by the docker driver"),
  stopTimeoutSeconds: stopTimeoutSeconds(300).describe("Seconds that the node has to stop before it is killed"),
});

/** The `kubernetes` driver, which uses the API server with the pod's own service account. */
export const kubernetesSection = section({
  /** The API server, as pods reach it. */
  apiUrl: fixed("https://kubernetes.default.svc"),
  namespace: name.optional().describe("Pod namespace; default: the service account's"),
  pod: name.optional().describe("Name of the node's pod; required by the kubernetes driver"),
  container: name.default("node").describe("Name of the node's container in the pod"),
  strategy: z
    .enum(["delete-pod", "signal"])
    .default("delete-pod")
    .describe(
      "delete-pod: delete the pod, and its controller recreates it; signal: send SIGTERM in a shared process namespace",
    )
    .meta({ expected: "delete-pod or signal" }),
  processName: name
    .optional()
    .describe("Name of the node's process or its binary, for the signal strategy; default: by node family, e.g. node"),
  /** Directory with the service account's token, namespace and ca.crt. */
  serviceAccountDirectory: fixed("/var/run/secrets/kubernetes.io/serviceaccount"),
});
