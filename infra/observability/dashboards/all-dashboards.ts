import type { Dashboard } from "./dashboard.ts";
import { gatewayDashboard } from "./gateway-dashboard.ts";
import { nodeDashboard } from "./node-dashboard.ts";
import { overviewDashboard } from "./overview-dashboard.ts";
import { paymentsDashboard } from "./payments-dashboard.ts";

export const dashboards: readonly Dashboard[] = [overviewDashboard, nodeDashboard, gatewayDashboard, paymentsDashboard];
