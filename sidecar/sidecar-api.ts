import { z } from "zod";
import { checkBodySchema, operationsApi } from "#daemon/http/operations-api.ts";
import { errorBody, type Api, type ApiResponse, type ApiOperation } from "#daemon/http/open-api.ts";
import { describeStatusOperation, nodePageShape, pageOperation } from "#status/status-api.ts";
import {
  adoptResponse,
  adoptRequest,
  controlPath,
  controlView,
  restartResponse,
  resumeResponse,
  upgradeResponse,
} from "./upkeep/control/control-responses.ts";
import { upgradeRequest } from "./upkeep/upgrade/requested-upgrade.ts";

const startupz: ApiOperation = {
  method: "get",
  path: "/startupz",
  summary: "Whether node.conf is valid, so that the node may start",
  responses: {
    200: {
      description: "Valid",
      body: z.object({ status: z.literal("ok"), checks: z.object({ configured: checkBodySchema }) }),
    },
    503: {
      description: "Not yet",
      body: z.object({ status: z.literal("unready"), checks: z.object({ configured: checkBodySchema }) }),
    },
  },
};

const page: readonly ApiOperation[] = [
  pageOperation,
  {
    method: "get",
    path: "/runbooks/{name}",
    summary: "A runbook: what is wrong, what to check, what to do",
    pathParameters: [
      {
        name: "name",
        description: "Such as node-down.md, the last segment of an incident's `runbook`; README.md lists all runbooks",
      },
    ],
    responses: {
      200: { description: "Markdown", text: "text/plain" },
      404: { description: "No runbook has that name", body: errorBody },
    },
  },
];

const rejections: Readonly<Record<number, ApiResponse>> = {
  400: { description: "The body is invalid, or the token's header is malformed" },
  401: { description: "The token is missing or wrong", text: "text/plain" },
  503: { description: "The sidecar is starting", body: errorBody },
};

function describeControlOperation(
  bodySchema: z.ZodType,
  operation: Omit<ApiOperation, "responses" | "security">,
): ApiOperation {
  const responses = { 200: { description: "The result", body: bodySchema }, ...rejections };
  return { ...operation, security: ["bearer"], responses };
}

const control: readonly ApiOperation[] = [
  describeControlOperation(controlView, {
    method: "get",
    path: controlPath,
    summary: "The sidecar's plan, and whether it is approved",
  }),
  describeControlOperation(resumeResponse, {
    method: "post",
    path: `${controlPath}/resume`,
    summary: "Resume after a rollback",
  }),
  describeControlOperation(restartResponse, {
    method: "post",
    path: `${controlPath}/restart`,
    summary: "Restart the node",
  }),
  describeControlOperation(adoptResponse, {
    method: "post",
    path: `${controlPath}/adopt`,
    summary: "Approve the plan that was shown, so that the sidecar acts on this node",
    body: adoptRequest,
  }),
  describeControlOperation(upgradeResponse, {
    method: "post",
    path: `${controlPath}/upgrade`,
    summary: "Preview an upgrade of the node, or start the previewed one",
    body: upgradeRequest,
  }),
];

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
    description: "The state of a node, and operations on it through its sidecar. For operators.",
    operations: [...operationsApi, startupz, status, ...page, ...(isControlled ? control : [])],
  };
}
