"""``torch.autograd.anomaly_mode``: re-exports only."""

from ..engine.switches.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
