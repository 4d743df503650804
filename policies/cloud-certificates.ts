/** Annotations through which a cloud load balancer gets an Ingress's certificates without a Secret: AWS Load Balancer Controller and GKE. */
export const cloudCertificates: readonly string[] = [
  "alb.ingress.kubernetes.io/certificate-arn",
  "networking.gke.io/managed-certificates",
  "ingress.gcp.kubernetes.io/pre-shared-cert",
];
