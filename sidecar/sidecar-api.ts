import { z } from "zod";
import { checkBody, operationsApi } from "#daemon/http/operations-api.ts";
import { errorBody, type Api, type ApiResponse, type ApiOperation } from "#daemon/http/open-api.ts";
import { describeStatusOperation, nodePageShape, pageOperation } from "#status/status-api.ts";
import {
  adoptResponse,
  adoptRequest,
  cancelResponse,
  controlPath,
  controlView,
  restartResponse,
  restoreRequest,
  resumeResponse,
  upgradeResponse,
  upgradeRequest,
} from "./upkeep/control/control-answers.ts";

const startupz: ApiOperation = {
  method: "get",
  path: "/startupz",
  summary: "Whether node.conf is right, so that the node may start",
  answers: {
    200: {
      description: "It is",
      body: z.object({ status: z.literal("ok"), checks: z.object({ configured: checkBody }) }),
    },
    503: {
      description: "Not yet",
      body: z.object({ status: z.literal("unready"), checks: z.object({ configured: checkBody }) }),
    },
  },
};

const page: readonly ApiOperation[] = [
  pageOperation,
  {
    method: "get",
    path: "/runbooks/{name}",
    summary: "A runbook: what is wrong, how to see it, what to do",
    pathParameters: [
      { name: "name", description: "Such as node-down.md, as an incident's `runbook` ends; README.md lists them all" },
    ],
    answers: {
      200: { description: "A page, or Markdown as it is, by Accept", text: ["text/plain", "text/html"] },
      404: { description: "No runbook has that name", body: errorBody },
    },
  },
];

const refusals: Readonly<Record<number, ApiResponse>> = {
  400: { description: "The body is not what is expected, or the token's header is malformed" },
  401: { description: "The token is missing or wrong", text: "text/plain" },
  503: { description: "The sidecar is starting", body: errorBody },
};

/** Describes an operation that requires the token. */
function describeControlOperation(
  answer: z.ZodType,
  operation: Omit<ApiOperation, "answers" | "security">,
): ApiOperation {
  const answers = { 200: { description: "What became of it", body: answer }, ...refusals };
  return { ...operation, security: ["bearer"], answers };
}

const control: readonly ApiOperation[] = [
  describeControlOperation(controlView, {
    method: "get",
    path: controlPath,
    summary: "What the sidecar would do, and whether it may",
  }),
  describeControlOperation(resumeResponse, {
    method: "post",
    path: `${controlPath}/resume`,
    summary: "Lift the hold after a roll-back",
  }),
  describeControlOperation(restartResponse, {
    method: "post",
    path: `${controlPath}/restart`,
    summary: "Restart the node",
  }),
  describeControlOperation(adoptResponse, {
    method: "post",
    path: `${controlPath}/adopt`,
    summary: "Let the sidecar act on this node, by the plan that was seen",
    body: adoptRequest,
  }),
  describeControlOperation(upgradeResponse, {
    method: "post",
    path: `${controlPath}/upgrade`,
    summary: "Show an upgrade of the node, or begin or schedule the one that was shown",
    body: upgradeRequest,
  }),
  describeControlOperation(upgradeResponse, {
    method: "post",
    path: `${controlPath}/restore`,
    summary: "Show a restore of the node's data from a snapshot, or begin the one that was shown",
    body: restoreRequest,
  }),
  describeControlOperation(cancelResponse, {
    method: "post",
    path: `${controlPath}/upgrade/cancel`,
    summary: "Withdraw an upgrade for which the node was not stopped yet",
  }),
];

/** Describes the API of the sidecar's operator listener; with a control token, includes the control routes. */
export function describeSidecarApi({ isControlled }: Readonly<{ isControlled: boolean }>): Api {
  const status = describeStatusOperation({
    ...nodePageShape,
    mode: z.enum(["adopt", "enforce", "observe"]),
    plan: controlView.shape.plan,
    actions: z
      .array(z.enum(["resume", "adopt", "restart"]))
      .optional()
      .describe("Actions available on the page to the token holder; absent if there is no token"),
  });
  return {
    title: "Gatehouse sidecar",
    description: "How a node is, and what its sidecar does to it. For operators.",
    operations: [...operationsApi, startupz, status, ...page, ...(isControlled ? control : [])],
  };
}
