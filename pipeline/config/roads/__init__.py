"""The table `[graph.osm]`: who travels on the streets of OpenStreetMap or Overture, how fast, and what an arc weighs."""

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.model import Finite, Model, Natural, Switch

Speed = Annotated[Finite, Field(ge=0, le=1000)]  # km/h
Cost = Annotated[Finite, Field(ge=0, le=86_400)]
Fastest = Annotated[Finite, Field(ge=0.1, le=1000)]


class TurnCosts(Model):
    """What a movement at a crossing costs besides the arcs: seconds, or metres where arcs weigh lengths."""

    left: Cost = Field(default=0, examples=[7.5])  # to the left by at least 45 degrees, where three streets meet
    right: Cost = Field(default=0, examples=[2])  # the same to the right
    u_turn: Cost = Field(default=0, examples=[20])  # back along the same street, except at its end, where it is free
    signals: Cost = Field(default=0, examples=[8])  # passing `highway=traffic_signals`, also at the end of a path


class OsmConfig(Model):
    """Which ways of OpenStreetMap, or segments of Overture, are streets, for whom, and what their arcs weigh."""

    # Who travels. It decides which ways are streets, in which directions and at what speed; the keys below change single rules,
    # so that `profile` and some of them are a profile of your own.
    profile: Literal["car", "bicycle", "foot"] | None = Field(default=None, examples=["car"])
    # `time`: whole milliseconds; `distance`: whole millimetres.
    weight: Literal["time", "distance"] = "time"
    islands: Natural = Field(default=0, examples=[100])  # weak components with fewer vertices than this are left out
    # km/h by the value of `highway`, or `ferry`; a class with 0, or that neither this nor the profile has, is no street.
    speeds: dict[str, Speed] = Field(default={}, examples=[{"track": 10, "service": 0}])
    # The largest speed in km/h by the value of `surface` or `tracktype`.
    surfaces: dict[str, Fastest] = Field(default={}, examples=[{"gravel": 30}])
    # km/h of limits that are named by a country and a zone.
    zones: dict[str, Fastest] = Field(default={}, examples=[{"DE:rural": 90}])
    fastest: Fastest | None = Field(default=None, examples=[90])  # km/h that are never exceeded
    # Keys of access, the most specific last; also with `:forward` and `:backward`.
    access: tuple[str, ...] = Field(default=(), examples=[["access", "vehicle", "motor_vehicle", "hgv"]])
    denied: tuple[str, ...] = Field(default=(), examples=[["no", "private"]])  # values of these keys that close a way
    barriers: tuple[str, ...] | None = Field(
        default=None, examples=[["bollard", "block"]]
    )  # values of `barrier` that close a node
    # Whether paths obey turn restrictions: by default those of a car and a bicycle do, and on foot nobody has to.
    restrictions: Switch | None = Field(default=None, examples=[False])
    turns: TurnCosts = Field(default=TurnCosts(), examples=[{"left": 5}])

    @property
    def obeys(self) -> bool:
        """Whether paths obey turn restrictions."""
        return self.profile != "foot" if self.restrictions is None else self.restrictions
