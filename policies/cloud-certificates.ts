/** Annotations with which a cloud load balancer gets certificates for an Ingress, instead of a Secret: AWS Load Balancer Controller and GKE. */
export const cloudCertificates: readonly string[] = [
  "alb.ingress.kubernetes.io/certificate-arn",
  "networking.gke.io/managed-certificates",
  "ingress.gcp.kubernetes.io/pre-shared-cert",
];
