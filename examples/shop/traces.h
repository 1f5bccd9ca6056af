// Where both programs send their traces.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_TRACES_H_
#define UNDERSTUDY_EXAMPLES_SHOP_TRACES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/transport/tracing/otlp_exporter.h"

namespace shop {

// Null without a collector: the system then has no traces.
inline absl::StatusOr<std::unique_ptr<understudy::OtlpExporter>> ExportTraces(const std::string& service,
                                                                              const std::string& collector) {
  if (collector.empty()) return nullptr;
  return understudy::OtlpExporter::Start({.collector = collector, .service = service});
}

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_TRACES_H_
