// ProcessMetrics: metrics from the operating system and from certificates: CPU, memory, descriptors, times of expiry.
//
// The families process_* have the names and meanings that Prometheus' client libraries give them.
// Threads: one.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_PROCESS_METRICS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_PROCESS_METRICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/transport/metrics/exposition.h"

namespace understudy::internal {

class ProcessMetrics {
 public:
  ProcessMetrics(std::string version, std::vector<std::string> certificate_files);

  void Write(Exposition& out) const;

 private:
  const std::string version_;
  const std::vector<std::string> certificate_files_;  // each once
};

// Returns when the first certificate in the PEM file expires, in seconds since 1970; nullopt if it has none.
absl::optional<int64_t> CertificateExpiry(const std::string& path);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_PROCESS_METRICS_H_
